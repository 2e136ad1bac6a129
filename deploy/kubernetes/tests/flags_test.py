"""penstockd accepts the command lines and configuration files of the chart."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from chart import ROOT, config, workload, workloads

PROGRAMS = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build/release/bin"))
needs_programs = pytest.mark.skipif(not (PROGRAMS / "penstockd").exists(), reason=f"{PROGRAMS} has no penstockd; ./run build")
# Addresses that the kubelet would put in.
VARIABLES = {"$(POD_IP)": "10.0.0.7", "$(POD_NAME)": "penstock-worker-0"}


def flag_table():
    """Returns the flags of penstockd: their names, and whether they take a value."""
    source = (ROOT / "server/daemon_options.cc").read_text()
    found = re.findall(r"flags->Add(\w+)\(\s*\"([a-z-]+)\"", source)
    assert len(found) > 30
    return {name: kind != "Switch" for kind, name in found}


def test_each_flag_exists(both):
    table = flag_table()
    for each in both:
        role, *flags = each.arguments
        assert role == each.role
        for argument in flags:
            name, equals, _ = argument.removeprefix("--").partition("=")
            assert name in table, argument
            assert table[name] == bool(equals), argument
        names = [argument.split("=")[0] for argument in flags if not argument.startswith("--data-root=")]
        assert len(names) == len(set(names)), "a flag occurs twice"


def test_each_field_of_a_configuration_file_exists(both, objects):
    fields = set(re.findall(r"(\w+) = \d+;", (ROOT / "proto/penstock/v1/config.proto").read_text()))
    for each in both:
        names = re.findall(r"(\w+)(?::| \{)", config(objects, each.role))
        assert names
        assert set(names) <= fields


def test_workers_connect_to_the_name_in_the_certificate(objects):
    host = workload(objects, "worker").flag("coordinator").rsplit(":", 1)[0]
    services = {f"{found['metadata']['name']}.data.svc" for found in objects if found["kind"] == "Service"}
    assert host in services
    for found in objects:
        if found["kind"] == "Certificate" and found["metadata"]["name"].endswith("-coordinator"):
            assert host in found["spec"]["dnsNames"]
        if found["kind"] == "Certificate" and found["metadata"]["name"].endswith("-worker"):
            assert workload(objects, "worker").flag("tls-name") in found["spec"]["dnsNames"]


@needs_programs
def test_penstockd_parses_the_command_lines(both):
    for each in both:
        arguments = list(each.arguments)
        for variable, value in VARIABLES.items():
            arguments = [argument.replace(variable, value) for argument in arguments]
        # The last flag ends the daemon. Another message means that it rejects an earlier one.
        done = subprocess.run([PROGRAMS / "penstockd", *arguments, "--ends-here"], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "there is no flag --ends-here" in done.stderr


@needs_programs
def test_penstock_checks_the_configuration_files(objects, tmp_path):
    for each in workloads(objects):
        file = tmp_path / f"{each.role}.textproto"
        file.write_text(config(objects, each.role))
        done = subprocess.run([PROGRAMS / "penstock", "check-config", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

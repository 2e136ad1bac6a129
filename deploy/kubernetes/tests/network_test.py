"""NetworkPolicies admit what is needed, and nothing else."""

import ipaddress

import pytest
from chart import NAMESPACE, example, of_kind, render, selects, workload

OWN = {"kubernetes.io/metadata.name": NAMESPACE}


class Pod:
    def __init__(self, labels, namespace=None, address="10.0.0.9"):
        self.labels, self.namespace, self.address = labels, namespace or OWN, address


def peer_matches(peer, pod):
    if "ipBlock" in peer:
        network = ipaddress.ip_network(peer["ipBlock"]["cidr"])
        address = ipaddress.ip_address(pod.address)
        return address.version == network.version and address in network
    namespace = selects(peer["namespaceSelector"], pod.namespace) if "namespaceSelector" in peer else pod.namespace == OWN
    return namespace and selects(peer.get("podSelector", {}), pod.labels)


def admits(objects, direction, role, other, port, protocol="TCP"):
    """Returns whether the role's policies admit a connection from (Ingress) or to (Egress) a pod, as Kubernetes does."""
    labels = workload(objects, role).labels
    policies = [found["spec"] for found in of_kind(objects, "NetworkPolicy") if selects(found["spec"]["podSelector"], labels)]
    policies = [policy for policy in policies if direction in policy["policyTypes"]]
    peers = "from" if direction == "Ingress" else "to"

    def matches(rule):
        ports = rule.get("ports") or [{"port": port, "protocol": protocol}]
        right_port = any(each["port"] == port and each.get("protocol", "TCP") == protocol for each in ports)
        return right_port and (peers not in rule or any(peer_matches(peer, other) for peer in rule[peers]))

    rules = [rule for policy in policies for rule in policy.get(direction.lower()) or []]
    return not policies or any(matches(rule) for rule in rules)


def pod_of(objects, role):
    return Pod(workload(objects, role).labels)


def test_workers_reach_the_coordinator(objects):
    assert admits(objects, "Ingress", "coordinator", pod_of(objects, "worker"), 7070)
    assert admits(objects, "Egress", "worker", pod_of(objects, "coordinator"), 7070)
    for protocol in ("UDP", "TCP"):
        assert admits(objects, "Egress", "worker", Pod({}, {"kubernetes.io/metadata.name": "kube-system"}), 53, protocol)


def test_the_command_in_the_coordinators_pod_reaches_the_coordinator(objects):
    coordinator = pod_of(objects, "coordinator")
    assert admits(objects, "Ingress", "coordinator", coordinator, 7070)
    assert admits(objects, "Egress", "coordinator", coordinator, 7070)
    assert not admits(objects, "Egress", "coordinator", Pod({"app": "any"}), 443)


@pytest.mark.parametrize(("name", "trainer"), [
    ("plaintext", Pod({"app": "any"})),
    ("production", Pod({"app": "trainer"}, {"kubernetes.io/metadata.name": "training"})),
])
def test_trainers_reach_the_coordinator_and_workers(name, trainer):
    objects = render(example(name))
    assert admits(objects, "Ingress", "coordinator", trainer, 7070)
    assert admits(objects, "Ingress", "worker", trainer, 7071)


def test_other_pods_reach_nothing(objects):
    stranger = Pod({"app": "trainer"}, {"kubernetes.io/metadata.name": "elsewhere"})
    for role in ("coordinator", "worker"):
        assert not any(admits(objects, "Ingress", role, stranger, port) for port in (7070, 7071, 7072))


@pytest.mark.parametrize("name", ["production", "autoscaling-hpa", "autoscaling-keda"])
def test_prometheus_reads_metrics_and_nothing_else(name):
    objects = render(example(name))
    prometheus = Pod({"app": "prometheus"}, {"kubernetes.io/metadata.name": "monitoring"})
    for role in ("coordinator", "worker"):
        assert admits(objects, "Ingress", role, prometheus, 7072)
        assert not admits(objects, "Ingress", role, prometheus, 7070 if role == "coordinator" else 7071)
        assert not admits(objects, "Ingress", role, Pod({"app": "any"}), 7072)


def test_workers_reach_any_storage_by_default():
    assert admits(render(example("plaintext")), "Egress", "worker", Pod({}, {"a": "b"}, "192.0.2.1"), 443)


def test_a_list_of_storages_closes_all_others():
    objects = render(example("ipv6-closed"))
    assert admits(objects, "Egress", "worker", Pod({}, {"a": "b"}, "2001:db8:7::1"), 9000)
    assert not admits(objects, "Egress", "worker", Pod({}, {"a": "b"}, "2001:db8:8::1"), 9000)
    assert not admits(objects, "Egress", "worker", Pod({}, {"a": "b"}, "2001:db8:7::1"), 443)


def test_policies_can_be_off():
    assert not of_kind(render(example("plaintext"), "--set", "networkPolicy.enabled=false"), "NetworkPolicy")

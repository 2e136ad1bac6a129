import pytest
from chart import EXAMPLES, render, workloads


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def values(request):
    """The path of each example."""
    return request.param


@pytest.fixture
def objects(values):
    return render(values)


@pytest.fixture
def both(objects):
    """The workloads of the coordinator and of the workers."""
    return workloads(objects)

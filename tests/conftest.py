"""What holds for all tests? Nothing is failed for its time: how fast a machine is says nothing of what is right."""

from hypothesis import settings

settings.register_profile("refgrad", deadline=None)
settings.load_profile("refgrad")

"""The testing kit: what users of Interlock test their companies with, and what its own tests use."""

from interlock.testing.clock import MovableClock
from interlock.testing.provider_server import ProviderServer, Received, Reply

__all__ = ["MovableClock", "ProviderServer", "Received", "Reply"]

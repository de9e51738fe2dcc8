"""Bundles over REST: what a server exports is what an audit elsewhere verifies."""

import io
from typing import Any

import pytest

from replay.audit import VERIFIED_WITH_LIMITS, audit_bundle
from replay.bundle import Bundle

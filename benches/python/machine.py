"""What was measured on: the names and sizes that explain numbers."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path

import sortition


def machine() -> dict[str, str]:
    """Processor, caches, system, instruction sets, load, day."""
    facts = {
        "processor": f"{_processor()}, {os.cpu_count()} CPUs",
        "caches": _caches(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "instruction set": sortition.info()["isa"],
        "threads": "1",
        "date": datetime.now(tz=timezone.utc).date().isoformat(),
        "command": " ".join(["python benches/python", *sys.argv[1:]]),
    }
    if hasattr(os, "getloadavg"):
        facts["load"] = f"{os.getloadavg()[0]:.1f} at the end (1 is this benchmark alone)"
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    names = f"family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
    return f"{fields.get('model name', platform.processor())} ({names})"


def _caches() -> str:
    sizes = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text("ascii").strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            sizes.append(f"L{level} {size}")
    return ", ".join(sizes) or "unknown"

"""From an environment's bill of materials (CycloneDX, standard input) to qddot's own: what it is of, and what its wheel bundles."""

from __future__ import annotations

import json
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "web" / "package-lock.json"
BUNDLED = ("three", "uplot", "@fontsource/stix-two-math")  # in qddot/_web


def main() -> None:
    bill = json.load(sys.stdin)
    for component in bill["components"]:  # where a file lay when this was built is nobody's business
        references = component.pop("externalReferences", [])
        if kept := [r for r in references if not r["url"].startswith("file:")]:
            component["externalReferences"] = kept
    ours = next(c for c in bill["components"] if c["name"] == "qddot")
    bill["components"].remove(ours)
    bill["metadata"]["component"] = ours
    bundled = [from_npm(name) for name in BUNDLED]
    bill["components"] += bundled
    depends = next(d for d in bill["dependencies"] if d["ref"] == ours["bom-ref"])
    depends["dependsOn"] = [*depends["dependsOn"], *(c["bom-ref"] for c in bundled)]
    json.dump(bill, sys.stdout, indent=2, sort_keys=True)


def from_npm(name: str) -> dict[str, object]:
    locked = json.loads(LOCK.read_text("utf-8"))["packages"][f"node_modules/{name}"]
    address = f"pkg:npm/{name.replace('@', '%40')}@{locked['version']}"
    licences = [{"license": {"acknowledgement": "declared", "id": locked["license"]}}]
    return {
        "type": "library",
        "name": name,
        "version": locked["version"],
        "purl": address,
        "bom-ref": address,
        "licenses": licences,
    }


if __name__ == "__main__":
    main()

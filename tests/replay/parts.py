"""What a picture is made of, as the tests of both games look at it."""

import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def by_id(root: ET.Element) -> dict[str, ET.Element]:
    return {identity: element for element in root.iter() if (identity := element.get("id"))}


def name(element: ET.Element) -> str:
    """What a screen reader says."""
    found = element.find(f"{SVG}title")
    return (found.text or "") if found is not None else ""


def used(element: ET.Element) -> list[str]:
    """The drawings an element shows."""
    return [str(use.get("href")) for use in element.iter(f"{SVG}use")]


def texts(element: ET.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]

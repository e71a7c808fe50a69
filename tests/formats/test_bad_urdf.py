"""Malformed URDF: the error's class, the line it points at, and the names in it; nothing hangs, nothing leaves the file."""

import json
import random
import re
import warnings

import pytest

from qddot import errors
from qddot.errors import ModelError, ModelLimitError, ModelReferenceError, ModelStructureError, ModelSyntaxError, ModelValueError
from qddot.formats import load_model, xml_tree
from qddot.model.inertia import Inertia
from tests.formats.texts import parse_urdf
from tests.reference import BAD

CASES = [
    case for case in json.loads((BAD / "expected.json").read_text())["files"] if (case["file"] or "").endswith((".urdf", ".xacro"))
]
LINES = {  # where the offending element stands
    "i10_two_inertials": 4,
    "i11_missing_ixx": 4,
    "j03_zero_axis": 6,
    "j13_limits_reversed": 6,
    "j18_capital_type": 5,
    "n04_mass_inf": 4,
    "n14_origin2": 6,
    "p03_file_uri": 4,
    "s03_newline": 5,
    "t06_dup_link": 5,
    "t08_no_parent": 5,
    "t11_unknown_child": 6,
    "x08_two_roots_xml": 9,
    "x18_xxe_http": 1,
}
WORDS = {  # what the message must say
    "i05_nonpd": "-0.49",
    "i10_two_inertials": "duplicate <inertial>",
    "j01_unknown_type": "revolute, continuous, prismatic",
    "j08_mimic_unknown": "'ghost'",
    "j10_mimic_cycle": "j1-j2-j1",
    "s03_newline": "control character",
    "s18_nfc_nfd": "confusable",
    "t01_loop": "b-c-b",
    "t06_dup_link": "t06_dup_link.urdf:4",
    "t11_unknown_child": "'ghost'",
    "x09_wrong_root": "<robots>",
}


def test_cases_are_found():
    assert len(CASES) > 60


@pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_reference_case(case, strict):
    expected = case["expected_strict" if strict else "expected_default"]
    expected = "ModelSecurityError" if expected == "same" else expected
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if expected.startswith("accept"):
            load_model(BAD / case["file"], strict=strict).mechanism  # noqa: B018
            messages = [str(w.message) for w in caught]
        else:
            with pytest.raises(getattr(errors, re.match(r"\w+", expected)[0])) as info:
                load_model(BAD / case["file"], strict=strict)
            messages = [str(info.value)]
            assert info.value.fix
            assert messages[0].endswith(f"({info.value.fix})")
            assert info.value.file == str(BAD / case["file"])
            assert info.value.line == LINES.get(case["id"], info.value.line)
            assert info.value.line >= 1
    if expected.startswith("accept silently"):
        assert messages == []
    else:
        assert any(case["file"] + ":" in m and WORDS.get(case["id"], "") in m for m in messages)


# sizes ----------------------------------------------------------------------------------------------------------------

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'


def tree(n: int, parent_of, *, reverse: bool = False, extra=lambda i: "") -> bytes:
    links = [f'<link name="l{i}">{INERTIAL}</link>' for i in range(n)]
    joints = [
        f'<joint name="j{i}" type="revolute"><parent link="l{parent_of(i)}"/><child link="l{i}"/>{LIMIT}{extra(i)}</joint>\n'
        for i in range(1, n)
    ]
    parts = [*reversed(links), *reversed(joints)] if reverse else [*links, *joints]
    return ("<robot name='r'>" + "\n".join(parts) + "</robot>").encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'<robot name="r">' + b"<a>" * 100_000, "nesting depth 257 is over the limit of 256"),
        (b'<robot name="r"><link name="' + b"x" * 8_000_000 + b'"/></robot>', "name length 8000000 is over the limit of 1024"),
        (
            b'<robot name="r"><link ' + b" ".join(b'a%d=""' % i for i in range(100_000)) + b"/></robot>",
            "number of attributes 100000",
        ),
        (b'<robot name="r"><mass value="' + b"1" * 100_000 + b'"/></robot>', "attribute length 100000"),
        (b"<" + b"r" * 2000 + b"/>", "tag length 2000"),
    ],
    ids=["deep", "long name", "many attributes", "long text", "long tag"],
)
def test_limits_name_themselves(data, message):
    with pytest.raises(ModelLimitError, match=message) as info:
        parse_urdf(data, "big.urdf")
    assert (info.value.file, info.value.line) == ("big.urdf", 1)


def test_a_hundred_thousand_links_stop_the_parser_early():
    data = tree(100_000, lambda i: i - 1)
    with pytest.raises(ModelLimitError, match="number of links 10001 is over the limit of 10000") as info:
        parse_urdf(data, "chain.urdf")
    assert info.value.line == 10_001


def test_number_of_elements(monkeypatch):
    monkeypatch.setattr(xml_tree, "MAX_ELEMENTS", 10)
    with pytest.raises(ModelLimitError, match="number of elements 11"):
        parse_urdf(b'<robot name="r">' + b"<a/>" * 20 + b"</robot>", "a.urdf")


def test_file_size(tmp_path, monkeypatch):
    monkeypatch.setenv("QDDOT_MAX_DESCRIPTION_BYTES", "100")
    (tmp_path / "a.urdf").write_bytes(b" " * 200)
    with pytest.raises(ModelLimitError, match=r"file size 200 is over the limit of 100 \(raise it by"):
        load_model(tmp_path / "a.urdf")


@pytest.mark.parametrize(
    "data",
    [
        tree(2000, lambda i: i - 1),
        tree(2000, lambda i: i - 1, reverse=True),
        tree(2000, lambda i: i - 1, extra=lambda i: f'<mimic joint="j{i - 1}"/>' if i > 1 else ""),
        tree(2000, lambda i: i - 1, reverse=True, extra=lambda i: f'<mimic joint="j{i - 1}"/>' if i > 1 else ""),
    ],
    ids=["chain", "chain from its tip", "each follows the one before", "each follows the one after"],
)
def test_long_chains_are_read_in_time(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = parse_urdf(data, "chain.urdf")
    assert len(model.mechanism.bodies) == 1999


def test_star():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_urdf(tree(5000, lambda i: 0), "star.urdf").mechanism.nv == 4999


# more ways to be wrong ------------------------------------------------------------------------------------------------

GOOD = f"""<?xml version="1.0"?>
<robot name="r">
<link name="base"/>
<link name="l1"><inertial>
  <origin xyz="0 0 0.1" rpy="0 0 0"/>
  <mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="j1" type="revolute">
  <parent link="base"/>
  <child link="l1"/>
  <origin xyz="0 0 0.2" rpy="0 0 0"/>
  <axis xyz="0 0 1"/>
  {LIMIT}
  <dynamics damping="1" friction="1"/>
</joint>
</robot>
"""


@pytest.mark.parametrize(
    "word", ["nan", "-inf", "1e999", "0x1p3", "1_0", "1,5", "1.2.3", "--1", "1e", ".", "e5", "١", "1f", "\u00a01", "+ 1"]
)
def test_only_finite_decimal_numbers(word):
    with pytest.raises(ModelValueError) as info:
        parse_urdf(GOOD.replace('mass value="1"', f'mass value="{word}"').encode(), "a.urdf")
    error = info.value
    assert (error.line, error.element, error.attribute, error.text) == (6, "link 'l1' > inertial > mass", "value", word)


@pytest.mark.parametrize(
    ("word", "value"), [("1", 1), ("1.", 1), (".5", 0.5), ("+2", 2), (" 3 ", 3), ("1E-3", 1e-3), ("&#9;4&#10;", 4)]
)
def test_decimal_numbers(word, value):
    assert parse_urdf(GOOD.replace('mass value="1"', f'mass value="{word}"').encode(), "a.urdf").links[1].inertia.mass == value


@pytest.mark.parametrize(
    ("old", "new", "error", "line", "words"),
    [
        (
            '<axis xyz="0 0 1"/>',
            '<axis xyz="0 0 1"/>\n<axis xyz="0 1 0"/>',
            ModelValueError,
            14,
            "joint 'j1' > axis: duplicate <axis>",
        ),
        ('<mass value="1"/>', '<mass value="1"/><mass value="2"/>', ModelValueError, 6, "duplicate <mass>"),
        ('<parent link="base"/>', '<parent link="base"/><parent link="l1"/>', ModelStructureError, 10, "duplicate <parent>"),
        ("</joint>", "<limit/></joint>", ModelValueError, 16, "duplicate <limit>"),
        (' link="base"', "", ModelValueError, 10, "joint 'j1' > parent link: the attribute 'link' is missing"),
        ('link="base"', 'link=""', ModelReferenceError, 10, "parent link '' does not exist"),
        ('link="base"', 'link="bsae"', ModelReferenceError, 10, "did you mean 'base'"),
        (' name="l1"', "", ModelValueError, 4, "link name: the attribute 'name' is missing"),
        (' name="j1"', "", ModelValueError, 9, "joint name: the attribute 'name' is missing"),
        (' type="revolute"', "", ModelValueError, 9, "type: the attribute 'type' is missing"),
        ('name="r"', 'name="r&#10;x"', ModelValueError, 2, "control character"),
        ('<mass value="1"/>', '<mass value="-1"/>', ModelValueError, 6, "mass value='-1': a mass is not negative"),
        ('<link name="base"/>', '<link name="l1"/>', ModelStructureError, 4, "two links have the name 'l1': first at a.urdf:3"),
        ('<mass value="1"/>', "<mass/>", ModelValueError, 6, "mass value: the attribute 'value' is missing"),
        (' iyz="0"', "", ModelValueError, 7, "inertia iyz: the attribute 'iyz' is missing"),
        ('xyz="0 0 1"', 'xyz="0,0,1"', ModelValueError, 13, "separate numbers by spaces"),
        ('xyz="0 0 1"', "", ModelValueError, 13, "axis xyz: the attribute 'xyz' is missing"),
        ('friction="1"', 'friction="-1"', ModelValueError, 15, "dynamics friction='-1': friction is not negative"),
        ('velocity="5"', 'velocity="-5"', ModelValueError, 14, "limit velocity='-5': a limit is not negative"),
        ('lower="-1"', 'lower="1.5"', ModelValueError, 14, "the lower limit 1.5 is above the upper 1"),
        ("</joint>", '<mimic joint="j1"/></joint>', ModelStructureError, 16, "cycle: j1-j1"),
        ("</joint>", "<mimic/></joint>", ModelValueError, 16, "mimic joint: the attribute 'joint' is missing"),
        ('name="base"', 'name="base" name="b"', ModelSyntaxError, 3, "duplicate attribute"),
        ("</robot>", "</rob>", ModelSyntaxError, 17, "mismatched tag"),
        ('name="base"', 'name="&x;"', ModelSyntaxError, 3, "undefined entity"),
        ('name="base"', 'name="&#0;"', ModelSyntaxError, 3, "reference to invalid character number"),
        ('version="1.0"', 'version="1.0" encoding="utf-99"', ModelSyntaxError, 1, "utf-99"),
        ('version="1.0"', 'version="1.0" encoding="gb2312"', ModelSyntaxError, 1, "encoding"),
    ],
)
def test_one_thing_wrong(old, new, error, line, words):
    assert old in GOOD
    with pytest.raises(error, match=re.escape(words)) as info:
        parse_urdf(GOOD.replace(old, new, 1).encode(), "a.urdf")
    assert type(info.value) is error
    assert (info.value.file, info.value.line) == ("a.urdf", line)


DOUBTS = [  # what is kept with a warning, and refused when strict
    ('damping="1"', 'damping="-1"', 9, "joint 'j1': a negative damping of -1"),
    (LIMIT, '<limit effort="10" velocity="5"/>', 9, "it has no limits of position"),
    ('izz="0.01"', 'izz="0.03"', 4, "triangle inequality"),
    ('ixx="0.01"', 'ixx="-0.01"', 4, "not positive semi-definite"),
    ('<origin xyz="0 0 0.2" rpy="0 0 0"/>', '<origin xyz="0 0 0.2"/><origin xyz="0 0 0.3"/>', 12, "a second <origin> that differs"),
    ("</link>", '<visual><geometry><mesh filename="/a.stl"/></geometry></visual></link>', 8, "an absolute path"),
]
REPORTS = [  # what only ever warns
    ('<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>', "", 4, "the mass is taken as a point"),
    ('lower="-1" upper="1"', 'lower="-180" upper="180"', 14, "this is 28.6 turns: are these degrees?"),
    ('ixx="0.01" iyy="0.01" izz="0.01"', 'ixx="12100" iyy="12100" izz="12100"', 4, "a body of 110 m .*millimetres"),
    ('<origin xyz="0 0 0.1" rpy="0 0 0"/>', '<origin xyz="0 0 100"/>', 4, "a body of 100 m .*millimetres"),
    ("<axis", '<foo:axis xyz="1 0 0"/><axis', 13, "<foo:axis> is of another namespace and is ignored"),
    ("</robot>", '<foo:link name="x"/></robot>', 17, "<foo:link> is of another namespace and is ignored"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), DOUBTS + REPORTS)
def test_what_is_kept_is_reported_with_a_fix(old, new, line, words):
    assert old in GOOD
    data = GOOD.replace(old, new, 1).encode()
    with pytest.warns(errors.ModelWarning, match=rf"a\.urdf:{line}:\d+: .*{words}.*\(.+\)$"):
        parse_urdf(data, "a.urdf")


@pytest.mark.parametrize(("old", "new", "line", "words"), DOUBTS)
def test_what_strict_refuses(old, new, line, words):
    with pytest.raises(ModelError, match=words) as info:
        parse_urdf(GOOD.replace(old, new, 1).encode(), "a.urdf", strict=True)
    assert info.value.line == line
    assert info.value.fix


@pytest.mark.parametrize(("old", "new", "line", "words"), REPORTS)
def test_what_strict_keeps(old, new, line, words):
    with pytest.warns(errors.ModelWarning, match=words):
        parse_urdf(GOOD.replace(old, new, 1).encode(), "a.urdf", strict=True)


def test_a_point_mass_is_one():
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    body = parse_urdf(GOOD.replace(inertia, "").encode(), "a.urdf").links[1].inertia
    assert body == Inertia.point(1.0, (0.0, 0.0, 0.1))


@pytest.mark.parametrize("character", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
@pytest.mark.parametrize("name", ['name="l1"', 'name="j1"', 'name="r"'])
def test_names_that_change_the_direction_of_writing_are_refused(name, character):
    with pytest.raises(ModelValueError, match="changes the direction of writing") as info:
        parse_urdf(GOOD.replace(name, f'{name[:-1]}{character}"', 1).encode(), "a.urdf")
    assert info.value.line in (2, 4, 9)


def test_a_doubtful_inertia_is_reported_where_it_stands():
    data = GOOD.replace('<link name="l1">', '<link name="l1">\n').replace('izz="0.01"', 'izz="0.03"').encode()
    with pytest.warns(errors.ModelWarning, match=r"a\.urdf:5:1: link 'l1': .*triangle inequality"):
        parse_urdf(data, "a.urdf")
    with pytest.raises(ModelValueError, match=r"a\.urdf:5:1: link 'l1' > inertial: .*triangle inequality"):
        parse_urdf(data, "a.urdf", strict=True)


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_an_empty_file_says_so(data):
    with pytest.raises(ModelSyntaxError, match=r"a\.urdf:1:1: the file is empty"):
        parse_urdf(data, "a.urdf")


@pytest.mark.parametrize(
    "declaration",
    [
        "<!DOCTYPE r>",
        '<!DOCTYPE r SYSTEM "http://localhost/x.dtd">',
        '<!DOCTYPE r [<!ENTITY a "b">]>',
        '<!DOCTYPE r [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>',
    ],
)
def test_document_types_are_refused(declaration):
    with pytest.raises(errors.ModelSecurityError, match=r"a\.urdf:2: it declares a document type"):
        parse_urdf(GOOD.replace("\n", f"\n{declaration}", 1).encode(), "a.urdf")


NASTY = [
    "",
    "-0",
    "-1",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "nan",
    "1 2",
    "1e308 1e308 1e308",
    "0 0 0",
    "1e-320 0 0",
    "j1",
    "l1",
    "base",
]
NASTY += ["planar", "floating", "fixed", "helical", "é", "&#10;", "&#0;", "../../../x", "${x}", "x" * 2000, "1" * 400, "\u202e"]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_damage_only_model_errors_come_out(seed):
    rng = random.Random(seed)
    for _ in range(250):
        data = GOOD.encode()
        for _ in range(rng.randint(1, 3)):
            value = rng.choice(list(re.finditer(rb'"[^"]*"', data)) or [re.match(b"", data)])
            cut = rng.randrange(len(data))
            data = rng.choice(
                [
                    data[: value.start()] + b'"' + rng.choice(NASTY).encode() + b'"' + data[value.end() :],
                    data[:cut] + data[cut + rng.randrange(40) :],
                    data[:cut] + bytes([rng.randrange(256)]) + data[cut + 1 :],
                ]
            )
        refusal = None
        try:
            parse_urdf(data, "a.urdf").mechanism  # noqa: B018
        except ModelError as error:
            refusal = error
        assert refusal is None or (refusal.file == "a.urdf" and refusal.line)

//! Each rule with a planted defect.

use super::*;

const LOCK: &str = "\
major 1
revision 1
draft 1
released 1

symbol entry fn(host: *const Host) -> Status r1
const MAX u32 16 r1
number Status i32 r1
value Status OK 0 r1
value Status INVALID -1 r1
opaque Thing r1
struct Text plain align=8 r1
size Text 16 r1
field Text data #0 offset=0 size=8 *const c_char r1
field Text size #1 offset=8 size=8 usize r1
struct Host extensible align=8 r1
size Host 32 r1
field Host struct_size #0 offset=0 size=4 u32 r1
field Host reserved #1 offset=4 size=4 u32 r1
field Host count #2 offset=8 size=8 fn(object: *mut Thing, count: *mut u32) -> Status r1
field Host name #3 offset=16 size=16 Text r1
struct Fence plain align=4 draft
size Fence 4 draft
field Fence fd #0 offset=0 size=4 i32 draft
trait Device r1
method Device open #0 prefix fn(&self) -> Status r1
method Device close #1 prefix fn(&self) r1
";
const TOLD: &str = "- plugin ABI revision 1\n- plugin ABI revision 2\n";

/// Findings of the lock with each of `changes` made to it.
fn changed(changes: &[(&str, &str)]) -> Vec<Finding> {
    let mut new = LOCK.to_owned();
    for (from, to) in changes {
        assert!(new.contains(from), "{from}");
        new = new.replace(from, to);
    }
    findings(LOCK, &new, TOLD)
}

/// The one finding is of `rule`, and says `part`.
fn one(changes: &[(&str, &str)], rule: Rule, part: &str) {
    let found = changed(changes);
    assert_eq!(found.len(), 1, "{found:?}");
    let text = found[0].to_string();
    assert_eq!(found[0].rule, rule, "{text}");
    assert!(text.contains(part), "{text}");
}

const NEXT: (&str, &str) = ("revision 1\n", "revision 2\n");

#[test]
fn what_grows_as_it_should_passes() {
    assert_eq!(changed(&[]), []);
    let grown = changed(&[
        NEXT,
        (
            "16 size=16 Text r1\n",
            "16 size=16 Text r1\nfield Host more #4 offset=32 size=8 u64 r2\n",
        ),
        ("size Host 32 r1\n", "size Host 32 r1\nsize Host 40 r2\n"),
        (
            "INVALID -1 r1\n",
            "INVALID -1 r1\nvalue Status BUSY -2 r2\n",
        ),
        (
            "fn(&self) r1\n",
            "fn(&self) r1\nmethod Device more #2 default fn(&self) r2\n",
        ),
        ("opaque Thing r1\n", "opaque Thing r1\nopaque Other r2\n"),
    ]);
    assert_eq!(grown, []);
    assert_eq!(
        findings("", LOCK, TOLD.trim_end())
            .iter()
            .filter(|f| f.rule != Rule::Revision)
            .count(),
        0
    );
}

#[test]
fn a_reordered_field_is_found() {
    let found = changed(&[
        (
            "reserved #1 offset=4 size=4 u32",
            "struct_size #0 offset=4 size=4 u32",
        ),
        (
            "struct_size #0 offset=0 size=4 u32",
            "reserved #1 offset=0 size=4 u32",
        ),
    ]);
    let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert!(
        texts[0].starts_with("field Host struct_size: moved from offset 0 to 4"),
        "{texts:?}"
    );
    assert!(
        texts[1].starts_with("field Host reserved: moved from offset 4 to 0"),
        "{texts:?}"
    );
    assert_eq!(found[2].rule, Rule::SizeFirst);
}

#[test]
fn a_removed_function_is_found() {
    let line = "field Host count #2 offset=8 size=8 fn(object: *mut Thing, count: *mut u32) -> Status r1\n";
    let found = changed(&[(line, "")]);
    assert!(
        found[0].to_string().starts_with("field Host count: it was"),
        "{found:?}"
    );
    assert_eq!(found[0].rule, Rule::Stays);
    // The hole that it leaves is told, too.
    assert_eq!(found[1].rule, Rule::Padding);
    one(&[("const MAX u32 16 r1\n", "")], Rule::Stays, "is gone");
}

#[test]
fn a_removed_struct_is_one_finding() {
    let start = LOCK.find("struct Host").unwrap();
    let end = LOCK.find("struct Fence").unwrap();
    one(
        &[(&LOCK[start..end], "")],
        Rule::Stays,
        "struct Host: it was",
    );
}

#[test]
fn a_grown_plain_struct_is_found() {
    let found = changed(&[
        NEXT,
        ("size Text 16 r1\n", "size Text 16 r1\nsize Text 24 r2\n"),
        (
            "8 size=8 usize r1\n",
            "8 size=8 usize r1\nfield Text more #2 offset=16 size=8 u64 r2\n",
        ),
    ]);
    let rules: Vec<_> = found.iter().map(|f| f.rule).collect();
    assert_eq!(rules, [Rule::Plain, Rule::Plain]);
    assert!(found[0].to_string().contains("was 16 bytes, is 24"));
}

#[test]
fn a_changed_signature_is_found() {
    one(
        &[("count: *mut u32) -> Status", "count: *mut u64) -> Status")],
        Rule::Stays,
        "was `offset=8 size=8 fn(object: *mut Thing, count: *mut u32) -> Status`, \
         is `offset=8 size=8 fn(object: *mut Thing, count: *mut u64) -> Status`",
    );
    one(
        &[("Host) -> Status", "Host) -> i32")],
        Rule::Stays,
        "symbol entry",
    );
}

#[test]
fn a_renumbered_constant_is_found() {
    one(
        &[("INVALID -1", "INVALID -2")],
        Rule::Stays,
        "was `-1`, is `-2`",
    );
    one(
        &[("MAX u32 16", "MAX u32 17")],
        Rule::Stays,
        "was `u32 16`, is `u32 17`",
    );
}

#[test]
fn an_insert_in_the_middle_is_found() {
    let found = changed(&[
        NEXT,
        ("size Host 32 r1\n", "size Host 32 r1\nsize Host 40 r2\n"),
        (
            "field Host name #3 offset=16",
            "field Host more #3 offset=16 size=8 u64 r2\nfield Host name #4 offset=24",
        ),
    ]);
    let rules: Vec<_> = found.iter().map(|f| f.rule).collect();
    assert_eq!(rules, [Rule::Stays, Rule::Last, Rule::Last]);
    one(
        &[
            NEXT,
            (
                "value Status INVALID",
                "value Status BUSY 7 r2\nvalue Status INVALID",
            ),
        ],
        Rule::Last,
        "comes before `INVALID`",
    );
}

#[test]
fn a_field_in_old_padding_is_found() {
    let more = "16 size=8 u64 r1\nfield Host more #4 offset=24 size=8 u64 r2\n";
    let old = LOCK.replace("16 size=16 Text r1\n", "16 size=8 u64 r1\n");
    let new = LOCK
        .replace("16 size=16 Text r1\n", more)
        .replace(NEXT.0, NEXT.1);
    let found = findings(&old, &new, TOLD);
    assert!(
        found
            .iter()
            .any(|f| f.rule == Rule::Last && f.what.contains("within the 32"))
    );
    assert!(
        findings(&old, &old, TOLD)
            .iter()
            .all(|f| f.rule == Rule::Padding)
    );
}

#[test]
fn a_change_without_its_own_revision_is_found() {
    one(
        &[(
            "INVALID -1 r1\n",
            "INVALID -1 r1\nvalue Status BUSY -2 r1\n",
        )],
        Rule::Revision,
        "raise ABI_REVISION to 2",
    );
    one(
        &[("revision 1\n", "revision 3\n")],
        Rule::Revision,
        "raised once a release",
    );
    one(
        &[("released 1", "released 0")],
        Rule::Revision,
        "went back from 1 to 0",
    );
}

#[test]
fn a_missing_changelog_entry_is_found() {
    let new = LOCK
        .replace(
            "INVALID -1 r1\n",
            "INVALID -1 r1\nvalue Status BUSY -2 r2\n",
        )
        .replace(NEXT.0, NEXT.1);
    let found = findings(
        LOCK,
        &new,
        "- plugin ABI revision 1\n- plugin ABI revision 20\n",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]
            .to_string()
            .contains("no entry says \"plugin ABI revision 2\"")
    );
}

#[test]
fn a_reused_number_is_found() {
    one(
        &[
            NEXT,
            (
                "INVALID -1 r1\n",
                "INVALID -1 r1\nvalue Status WRONG -1 r2\n",
            ),
        ],
        Rule::Reuse,
        "-1 is the number of `INVALID`",
    );
    let found = changed(&[NEXT, ("INVALID -1 r1", "WRONG -1 r2")]);
    let rules: Vec<_> = found.iter().map(|f| f.rule).collect();
    assert_eq!(rules, [Rule::Stays, Rule::Reuse]);
}

#[test]
fn a_type_that_does_not_cross_is_found() {
    let field = |type_: &str| {
        changed(&[
            NEXT,
            ("size Host 32 r1\n", "size Host 32 r1\nsize Host 40 r2\n"),
            (
                "16 size=16 Text r1\n",
                &format!("16 size=16 Text r1\nfield Host more #4 offset=32 size=8 {type_} r2\n"),
            ),
        ])
    };
    for type_ in [
        "[c_char; 8]",
        "*const *const Host",
        "fn(kind: Status)",
        "*mut c_void",
    ] {
        assert_eq!(field(type_), [], "{type_}");
    }
    for (type_, word) in [
        ("[bool; 8]", "bool"),
        ("fn(flag: bool) -> Status", "bool"),
        ("*const str", "str"),
        ("RVec<u8>", "RVec"),
        ("&Host", "&"),
        ("Option<Status>", "Option"),
    ] {
        let found = field(type_);
        assert!(found.iter().all(|f| f.rule == Rule::Types), "{found:?}");
        assert!(
            found[0].what.contains(&format!("has `{word}`")),
            "{found:?}"
        );
    }
}

#[test]
fn drafts_may_change_with_their_number() {
    let change = ("fd #0 offset=0 size=4 i32", "handle #0 offset=0 size=4 u32");
    assert_eq!(changed(&[change, ("draft 1\n", "draft 2\n")]), []);
    one(&[change], Rule::Revision, "the number is still 1");
    one(
        &[
            ("const MAX u32 16 r1", "const MAX u32 16 draft"),
            ("draft 1\n", "draft 2\n"),
        ],
        Rule::Stays,
        "is a draft now",
    );
}

#[test]
fn the_prefix_of_an_object_does_not_move() {
    one(
        &[(
            "close #1 prefix fn(&self) r1",
            "close #1 required fn(&self) r1",
        )],
        Rule::Stays,
        "was `prefix fn(&self)`, is `required fn(&self)`",
    );
    one(
        &[
            NEXT,
            (
                "prefix fn(&self) r1\n",
                "prefix fn(&self) r1\nmethod Device more #2 required fn(&self) r2\n",
            ),
        ],
        Rule::Prefix,
        "old objects do not have it",
    );
}

use tempfile::TempDir;

use super::*;

#[track_caller]
fn check_json(before: &str, off: &str) {
    assert_eq!(edit_json(before, false).unwrap(), off);
    let on = edit_json(off, true).unwrap();
    // Back on, only the word differs.
    assert_eq!(edit_json(&on, false).unwrap(), off);
    assert_eq!(edit_json(before, true).unwrap().replace("true", ""), before.replace("true", "").replace("null", ""));
}

#[test]
fn json_keeps_every_other_byte() {
    check_json(
        "{\n\t\"z\": 1.0e5,\n\t\"enabled\" : true,\n\t\"a\": {\"enabled\": 1}\n}\n",
        "{\n\t\"z\": 1.0e5,\n\t\"enabled\" : false,\n\t\"a\": {\"enabled\": 1}\n}\n",
    );
    check_json(
        "{\n  \"name\": \"x\",\n  \"n\": 12345678901234567890123\n}\n",
        "{\n  \"name\": \"x\",\n  \"n\": 12345678901234567890123,\n  \"enabled\": false\n}\n",
    );
    check_json("{\"name\":\"a,}\"}", "{\"name\":\"a,}\",\"enabled\": false}");
    check_json("{}", "{\"enabled\": false}");
    check_json("{\"enabled\":null}", "{\"enabled\":false}");
    assert!(edit_json("[]", false).is_err());
}

#[test]
fn toml_keeps_every_other_byte() {
    let check = |before: &str, off: &str| {
        assert_eq!(edit_toml(before, false).unwrap(), off);
        assert_eq!(edit_toml(&edit_toml(off, true).unwrap(), false).unwrap(), off);
        assert_eq!(toml::from_str::<toml::Table>(off).unwrap()["enabled"], toml::Value::Boolean(false));
    };
    check(
        "id = 'a' # me\nenabled  =  true # on\n[run]\nenabled = true\n",
        "id = 'a' # me\nenabled  =  false # on\n[run]\nenabled = true\n",
    );
    check("# about\n\nid = 'a'\n[run]\n", "# about\n\nenabled = false\nid = 'a'\n[run]\n");
    check("", "enabled = false\n");
    assert_eq!(edit_toml("id = 'a'\n", true).unwrap(), "id = 'a'\n");
    assert!(edit_toml("id = ", false).is_err());
}

#[test]
fn settings_keep_their_comments_where_they_can() {
    let dir = TempDir::new().unwrap();
    let yaml = dir.path().join("extensions.yaml");
    let check = |before: &str, off: &str, on: &str| {
        fs::write(&yaml, before).unwrap();
        set_disabled(&yaml, "x", true).unwrap();
        assert_eq!(fs::read_to_string(&yaml).unwrap(), off);
        set_disabled(&yaml, "x", true).unwrap();
        assert_eq!(fs::read_to_string(&yaml).unwrap(), off);
        set_disabled(&yaml, "x", false).unwrap();
        assert_eq!(fs::read_to_string(&yaml).unwrap(), on);
    };
    check("", "extensions:\n  disabled: [x]\n", "extensions:\n  disabled: []\n");
    check(
        "# mine\nextensions: \n  max_depth: 4 # deep\n  disabled: [a] # not a\nother: 1\n",
        "# mine\nextensions: \n  max_depth: 4 # deep\n  disabled: [a, x] # not a\nother: 1\n",
        "# mine\nextensions: \n  max_depth: 4 # deep\n  disabled: [a] # not a\nother: 1\n",
    );
    check(
        "extensions:\n    # why\n    disabled:\n      - a\n      - b\n    max_depth: 4\n",
        "extensions:\n    # why\n    disabled: [a, b, x]\n    max_depth: 4\n",
        "extensions:\n    # why\n    disabled: [a, b]\n    max_depth: 4\n",
    );
    check(
        "extensions:\n    max_depth: 4\n",
        "extensions:\n    disabled: [x]\n    max_depth: 4\n",
        "extensions:\n    disabled: []\n    max_depth: 4\n",
    );
    // Written in a way that is not edited line by line: the meaning stays.
    check(
        "extensions: {max_depth: 4}\n",
        "extensions:\n  max_depth: 4\n  disabled:\n  - x\n",
        "extensions:\n  max_depth: 4\n  disabled: []\n",
    );
}

#[test]
fn settings_that_cannot_be_edited_are_left_alone() {
    let dir = TempDir::new().unwrap();
    let yaml = dir.path().join("extensions.yaml");
    set_disabled(&yaml, "x", false).unwrap();
    assert!(!yaml.exists());
    for text in ["extensions: [", "[]", "extensions: 1", "extensions: {disabled: x}"] {
        fs::write(&yaml, text).unwrap();
        assert!(set_disabled(&yaml, "x", true).is_err(), "{text}");
        assert_eq!(fs::read_to_string(&yaml).unwrap(), text);
    }
}

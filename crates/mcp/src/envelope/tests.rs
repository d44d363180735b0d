use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn what_is_carried_stays_as_it_was_written() {
    let line = r#"{"id":7,"jsonrpc":"2.0","result":{"z":12345678901234567890123, "a":1}}"#;
    let Ok(Kind::Answer { id, result: Ok(result) }) = Envelope::read(line) else { panic!("an answer") };
    assert_eq!((id, result.get()), (Some(json!(7)), r#"{"z":12345678901234567890123, "a":1}"#));
    assert_eq!(
        answer(&json!("x"), result.get()),
        r#"{"jsonrpc":"2.0","id":"x","result":{"z":12345678901234567890123, "a":1}}"#
    );
    assert_eq!(request(&json!(1), "a\"b", Some("[]")), r#"{"jsonrpc":"2.0","id":1,"method":"a\"b","params":[]}"#);
    assert_eq!(
        request_written(7, "a", 0, |line| line.push_str("[1]")),
        r#"{"jsonrpc":"2.0","id":7,"method":"a","params":[1]}"#
    );
    for id in [json!(0), json!(-7), json!(1.5), json!("plain"), json!("\u{1}\"\\é"), json!(u64::MAX)] {
        let mut text = String::new();
        push_id(&mut text, &id);
        assert_eq!(text, id.to_string());
    }
    assert_eq!(notification("n", None), r#"{"jsonrpc":"2.0","method":"n"}"#);
}

#[test]
fn what_is_no_message_says_so() {
    for text in ["", "x", "[]", "7", "{}", r#"{"id":{}, "method":"x"}"#, r#"{"id":1}"#, r#"{"result":1}"#] {
        assert!(Envelope::read(text).is_err(), "{text}");
    }
    let nameless = Envelope::read(r#"{"id":null,"error":{"code":-32700,"message":"?"}}"#);
    assert!(matches!(nameless, Ok(Kind::Answer { id: None, result: Err(RpcError { code: PARSE_ERROR, .. }) })));
}

#[test]
fn null_is_a_result() {
    let answered = Envelope::read(r#"{"id":1,"result":null,"error":null}"#);
    assert!(matches!(answered, Ok(Kind::Answer { id: Some(_), result: Ok(result) }) if result.get() == "null"));
    let failed = Envelope::read(r#"{"id":1,"result":null,"error":{"code":1,"message":"no"}}"#);
    assert!(matches!(failed, Ok(Kind::Answer { result: Err(RpcError { code: 1, .. }), .. })));
    let asked = Envelope::read(r#"{"id":1,"method":"a","params":null,"result":null}"#);
    assert!(matches!(asked, Ok(Kind::Request { params: None, .. })));
}

/// JSON text with integers of any length, in an order and with white space that a parser would not keep.
fn json_text() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        "null|true|false|-?[1-9][0-9]{0,40}|-?0\\.[0-9]{1,30}",
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        let member =
            (any::<String>(), inner.clone()).prop_map(|(key, value)| format!("{} : {value}", Value::from(key)));
        prop_oneof![
            vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(" ,"))),
            vec(member, 0..4).prop_map(|members| format!("{{ {}}}", members.join(", "))),
        ]
    })
}

fn id() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(|number: f64| json!(number)),
        any::<String>().prop_map(Value::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_call_reads_back(id in id(), method in any::<String>(), params in proptest::option::of(json_text())) {
        // For params, `null` says the same as nothing.
        let expected = params.as_deref().filter(|params| *params != "null");
        let line = request(&id, &method, params.as_deref());
        let Ok(Kind::Request { id: id_read, method: method_read, params: read }) = Envelope::read(&line) else {
            return Err(TestCaseError::fail(line));
        };
        prop_assert_eq!((&id_read, &method_read, read.map(RawValue::get)), (&id, &method, expected));
        let line = notification(&method, params.as_deref());
        let Ok(Kind::Notification { method: method_read, params: read }) = Envelope::read(&line) else {
            return Err(TestCaseError::fail(line));
        };
        prop_assert_eq!((&method_read, read.map(RawValue::get)), (&method, expected));
        prop_assert!(!line.contains('\n'), "one line");
    }

    #[test]
    fn an_answer_reads_back(id in id(), result in json_text(), code in any::<i64>(), message in any::<String>()) {
        let line = answer(&id, &result);
        let Ok(Kind::Answer { id: id_read, result: Ok(read) }) = Envelope::read(&line) else {
            return Err(TestCaseError::fail(line));
        };
        prop_assert_eq!((id_read.as_ref(), read.get()), (Some(&id), result.as_str()));
        let error = RpcError { code, message, data: Some(id.clone()) };
        let line = failure(Some(&id), &error);
        let Ok(Kind::Answer { id: id_read, result: Err(read) }) = Envelope::read(&line) else {
            return Err(TestCaseError::fail(line));
        };
        prop_assert_eq!((id_read.as_ref(), &read), (Some(&id), &error));
    }

    /// A newer peer adds members; they change nothing about the known ones.
    #[test]
    fn unknown_members_do_no_harm(name in "_[a-z]{1,8}", extra in json_text(), result in json_text()) {
        let line = format!("{{\"{name}\":{extra},\"id\":1,\"result\":{result},\"{name}2\":{extra}}}");
        let Ok(Kind::Answer { result: Ok(read), .. }) = Envelope::read(&line) else {
            return Err(TestCaseError::fail(line));
        };
        prop_assert_eq!(read.get(), result.as_str());
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        prop_assert!(Envelope::read(&text).is_err());
    }
}

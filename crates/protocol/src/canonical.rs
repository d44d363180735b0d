//! Canonical JSON: UTF-8, no white space, object keys sorted, arrays in order.

use serde_json::Value;

/// Writes `value` in canonical form, for hashing.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(object.get(key).unwrap_or(&Value::Null), out);
            }
            out.push('}');
        }
        Value::Array(array) => {
            out.push('[');
            for (index, item) in array.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::canonical_json;

    #[test]
    fn keys_are_sorted_at_every_depth_and_arrays_are_not() {
        let value = json!({"b": [3, 1, {"z": null, "a": "é\n"}], "a": 1.5});
        assert_eq!(canonical_json(&value), r#"{"a":1.5,"b":[3,1,{"a":"é\n","z":null}]}"#);
    }
}

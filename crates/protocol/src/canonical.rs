//! Canonical JSON: UTF-8, no white space, object keys sorted, arrays in order.

use serde_json::Value;

/// Writes `value` in canonical form, for hashing.
pub fn canonical_json(value: &Value) -> String {
    let mut out = Vec::with_capacity(128);
    write_canonical(value, &mut out);
    // Every part of it is text.
    String::from_utf8(out).unwrap_or_default()
}

/// Adds `value` in canonical form to `out`.
pub fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(object) => {
            let mut members: Vec<(&String, &Value)> = object.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push(key, out);
                out.push(b':');
                write_canonical(value, out);
            }
            out.push(b'}');
        }
        Value::Array(array) => {
            out.push(b'[');
            for (index, item) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        scalar => push(scalar, out),
    }
}

fn push(scalar: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Neither texts nor numbers fail to be written to memory.
    let _ = serde_json::to_writer(out, scalar);
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

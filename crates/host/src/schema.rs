//! tmp
use std::sync::Arc;
use serde_json::Value;
pub(crate) struct Validator(jsonschema::Validator);
impl Validator { pub(crate) fn check(&self, args:&Value)->Result<(),String>{ self.0.validate(args).map_err(|e| e.to_string()) } }
pub(crate) fn compile(p:&Value)->Result<Arc<Validator>,String>{ jsonschema::validator_for(p).map(|v|Arc::new(Validator(v))).map_err(|e|e.to_string()) }
pub(crate) fn coerce_object(v:Value)->Result<Value,String>{ match v { Value::Null=>Ok(Value::Object(Default::default())), Value::Object(_)=>Ok(v), o=>Err(format!("not an object: {o}")) } }

//! Code with `unsafe`: what the engine's safe interface does not offer.
//!
//! Five things need it. Code is compiled to bytecode as a script, not as a module, because CommonJS is sloppy and a module
//! is always strict; the safe interface writes bytecode of modules only. Reading bytecode back is unsafe by nature: it is as
//! powerful as native code, so callers may pass only what [`crate::code`] has authenticated. The bytes of a typed array
//! can be changed by script at any time, so they are copied at once. The class of an object has no safe name. And seventy globals
//! that are made when they are used cost a closure and a description each in script, in every engine.
#![allow(
    unsafe_code,
    reason = "see above: bytecode of scripts, bytes of typed arrays, classes of objects, late globals"
)]

use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;

use rquickjs::{Array, Ctx, Error, Function, Result, TypedArray, Value, qjs};

const STRIPPED: u32 = qjs::JS_WRITE_OBJ_STRIP_SOURCE | qjs::JS_WRITE_OBJ_STRIP_DEBUG;

/// Compiles a script without running it. With its facts kept, functions can be read as text and errors name their lines.
pub(crate) fn compile<'js>(
    cx: &Ctx<'js>,
    name: &str,
    source: &str,
    keep_facts: bool,
) -> Result<(Vec<u8>, Compiled<'js>)> {
    let name = CString::new(name.replace('\0', "\u{fffd}"))?;
    let length = source.len();
    // A NUL may stand in source text; the engine goes by the length and needs one at the end only.
    let mut text = source.as_bytes().to_vec();
    text.push(0);
    let flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    let raw = cx.as_raw().as_ptr();
    // SAFETY: `text` ends with a NUL and outlives the call; the context is alive because `cx` is.
    let function = unsafe { qjs::JS_Eval(raw, text.as_ptr().cast(), length as _, name.as_ptr(), flags as i32) };
    // SAFETY: the value is owned by us and not used otherwise.
    let function = unsafe { owned(cx, function) }?;
    let mut size = MaybeUninit::uninit();
    // SAFETY: the function is alive; the engine sets `size` when it returns a buffer, which we copy and free.
    unsafe {
        let buffer = qjs::JS_WriteObject(
            raw,
            size.as_mut_ptr(),
            function.as_raw(),
            (qjs::JS_WRITE_OBJ_BYTECODE | if keep_facts { 0 } else { STRIPPED }) as i32,
        );
        if buffer.is_null() {
            return Err(Error::Exception);
        }
        let bytes = std::slice::from_raw_parts(buffer, size.assume_init() as usize).to_vec();
        qjs::js_free(raw, buffer.cast());
        Ok((bytes, Compiled(function)))
    }
}

/// A script that this very engine compiled, not yet run.
pub(crate) struct Compiled<'js>(Value<'js>);

impl<'js> Compiled<'js> {
    /// Runs it and returns its value, without the way through its bytes.
    pub(crate) fn run(self, cx: &Ctx<'js>) -> Result<Value<'js>> {
        let raw = cx.as_raw().as_ptr();
        // SAFETY: the function is alive and of this context; `JS_EvalFunction` takes ownership of the copy that it gets.
        unsafe { owned(cx, qjs::JS_EvalFunction(raw, qjs::JS_DupValue(raw, self.0.as_raw()))) }
    }
}

/// Runs a compiled script and returns its value. `code` must come from [`compile`] of this very engine.
pub(crate) fn run<'js>(cx: &Ctx<'js>, code: &[u8]) -> Result<Value<'js>> {
    let raw = cx.as_raw().as_ptr();
    // SAFETY: the bytes are our own compiler's, authenticated by the caller; the engine copies what it keeps.
    let function = unsafe { qjs::JS_ReadObject(raw, code.as_ptr(), code.len() as _, qjs::JS_READ_OBJ_BYTECODE as i32) };
    // SAFETY: as in `compile`; `JS_EvalFunction` takes ownership of what it runs.
    unsafe {
        if qjs::JS_IsException(function) {
            return Err(Error::Exception);
        }
        owned(cx, qjs::JS_EvalFunction(raw, function))
    }
}

/// A copy of the bytes of a typed array; nothing where its buffer is gone.
pub(crate) fn bytes(array: &TypedArray<'_, u8>) -> Vec<u8> {
    // SAFETY: the slice is copied before any script can run again.
    unsafe { array.as_bytes() }.map(<[u8]>::to_vec).unwrap_or_default()
}

/// Whether a value is an object without a nature of its own: no list, no date, no boxed number, nobody's stand-in.
pub(crate) fn is_plain_object(value: &Value<'_>) -> bool {
    /// The engine numbers this class first.
    const OBJECT: qjs::JSClassID = 1;
    // SAFETY: the value is alive, and nothing but its class is looked at.
    unsafe { qjs::JS_GetClassID(value.as_raw()) == OBJECT }
}

/// Gives the global object members that are made when they are first used: `make` is called with the name, and with a value
/// where one is set.
pub(crate) fn give_late<'js>(cx: &Ctx<'js>, names: &Array<'js>, make: &Function<'js>) -> Result<()> {
    /// What getters and setters do; setters alone are called with something.
    unsafe extern "C" fn called(
        context: *mut qjs::JSContext,
        _this: qjs::JSValue,
        count: c_int,
        given: *mut qjs::JSValue,
        _magic: c_int,
        kept: *mut qjs::JSValue,
    ) -> qjs::JSValue {
        // SAFETY: the engine keeps both values that the function was made with, and gives as many as it says.
        unsafe {
            let mut args = [*kept.add(1), if count > 0 { *given } else { qjs::JS_UNDEFINED }];
            qjs::JS_Call(context, *kept, qjs::JS_UNDEFINED, 1 + c_int::from(count > 0), args.as_mut_ptr())
        }
    }
    let (raw, globals) = (cx.as_raw().as_ptr(), cx.globals());
    for name in names.iter::<Value<'js>>() {
        let name = name?;
        let mut kept = [make.as_raw(), name.as_raw()];
        // SAFETY: all values are alive and of this context; the engine takes copies of what the function keeps, and owns both
        // copies of the function that it gets.
        let given = unsafe {
            let function = owned(cx, qjs::JS_NewCFunctionData(raw, Some(called), 0, 0, 2, kept.as_mut_ptr()))?;
            let atom = qjs::JS_ValueToAtom(raw, name.as_raw());
            if atom == qjs::JS_ATOM_NULL {
                return Err(Error::Exception);
            }
            let (getter, setter) = (qjs::JS_DupValue(raw, function.as_raw()), qjs::JS_DupValue(raw, function.as_raw()));
            let flags = qjs::JS_PROP_CONFIGURABLE as c_int;
            let given = qjs::JS_DefinePropertyGetSet(raw, globals.as_raw(), atom, getter, setter, flags);
            qjs::JS_FreeAtom(raw, atom);
            given
        };
        if given < 0 {
            return Err(Error::Exception);
        }
    }
    Ok(())
}

/// What became of the next promised job.
pub(crate) enum Job {
    /// There was none.
    Nothing,
    Done,
    /// Its exception is pending.
    Threw,
}

/// Runs the next promised job.
pub(crate) fn run_job(cx: &Ctx<'_>) -> Job {
    let mut context = MaybeUninit::uninit();
    // SAFETY: the context is alive because `cx` is; it is the only one of its runtime, so what a job throws is pending there.
    match unsafe { qjs::JS_ExecutePendingJob(qjs::JS_GetRuntime(cx.as_raw().as_ptr()), context.as_mut_ptr()) } {
        0 => Job::Nothing,
        1.. => Job::Done,
        _ => Job::Threw,
    }
}

/// Whether memory was nearly used up when the engine last looked for garbage. What was thrown away since then does not count:
/// by the time that an error is seen, whatever filled the memory may be gone.
pub(crate) fn was_full(cx: &Ctx<'_>, limit: usize) -> bool {
    // SAFETY: the context is alive because `cx` is, and so is its runtime.
    let threshold = unsafe { qjs::JS_GetGCThreshold(qjs::JS_GetRuntime(cx.as_raw().as_ptr())) };
    // The engine looks again when it uses one and a half times what it used then.
    threshold as usize > limit / 2
}

/// # Safety
/// `value` must be owned by the caller and belong to the context of `cx`.
unsafe fn owned<'js>(cx: &Ctx<'js>, value: qjs::JSValue) -> Result<Value<'js>> {
    // SAFETY: promised by the caller.
    unsafe {
        if qjs::JS_IsException(value) {
            return Err(Error::Exception);
        }
        Ok(Value::from_raw(cx.clone(), value))
    }
}

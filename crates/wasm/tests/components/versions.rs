//! The rules of evolution: what a newer host must link.

use jackfield_test_support::assemble;
use wasmtime::component::{Component, Linker, types::ComponentItem};
use wasmtime::{Engine, Store};

/// A host of a later minor version: the interface has a function more.
fn later(engine: &Engine) -> Linker<u32> {
    let mut linker = Linker::new(engine);
    let mut log = linker.instance("jackfield:extension/log@1.3.0").expect("an interface");
    let write = |mut store: wasmtime::StoreContextMut<'_, u32>, _: (String, String, String)| {
        *store.data_mut() += 1;
        Ok(())
    };
    log.func_wrap("write", write).expect("the function of 1.0");
    log.func_wrap("flush", |_: wasmtime::StoreContextMut<'_, u32>, (): ()| Ok(())).expect("a function of 1.3");
    linker
}

#[test]
fn a_guest_of_an_older_minor_version_links_and_is_found() {
    let engine = Engine::default();
    let guest = assemble(&std::fs::read_to_string("tests/guests/pure.wat").expect("there"), "pure-tool");
    let component = Component::new(&engine, &guest).expect("compiled");
    let mut store = Store::new(&engine, 0);
    let instance = later(&engine).instantiate(&mut store, &component).expect("a guest of 1.0 on a host of 1.3");
    // What the host of 1.3 looks for is found under the older name.
    let found = instance.get_export_index(&mut store, None, "jackfield:extension/guest@1.3.0");
    assert!(found.is_some());
    let exports = component.component_type();
    let has = exports.exports(&engine).any(|(name, item)| {
        name == "jackfield:extension/guest@1.0.0" && matches!(item.ty, ComponentItem::ComponentInstance(_))
    });
    assert!(has);
}

#[test]
fn a_signature_that_changes_is_an_error_that_names_it() {
    let engine = Engine::default();
    let guest = assemble(&std::fs::read_to_string("tests/guests/pure.wat").expect("there"), "pure-tool");
    let component = Component::new(&engine, &guest).expect("compiled");
    let mut linker: Linker<u32> = Linker::new(&engine);
    let mut log = linker.instance("jackfield:extension/log@1.3.0").expect("an interface");
    log.func_wrap("write", |_: wasmtime::StoreContextMut<'_, u32>, _: (String, String)| Ok(())).expect("a function");
    let mut store = Store::new(&engine, 0);
    let error = linker.instantiate(&mut store, &component).expect_err("another signature");
    assert!(format!("{error:#}").contains("jackfield:extension/log@1.0.0"), "{error:#}");
}

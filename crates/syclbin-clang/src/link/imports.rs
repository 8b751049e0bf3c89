// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks imports, which are symbols that a file's code uses but does not define. Some drivers crash the process when
//! they load code with undefined symbols, so such code is rejected.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::{self, ASSERT_FAIL, Import};
use syclbin::property::{key, set};
use syclbin::{AbstractModule, State, ptx};
pub(crate) use syclbin_tools::__private::exports;
use syclbin_tools::__private::{self, spelled};

use crate::link::InputFile;
use crate::{Result, own};

/// Returns the exports that other modules may also define, such as `inline` functions in C++. Only SPIR-V distinguishes
/// these exports from others. For a module that contains code but no SPIR-V, returns all exports: native code is not
/// linked again, so its exports never conflict.
pub(crate) fn shared_exports<'m>(module: &'m AbstractModule<'_>) -> Result<BTreeSet<&'m str>> {
    let mut shared: BTreeSet<&str> = exports(module).collect();
    if module.images.is_empty() {
        return Ok(BTreeSet::new()); // without code, no export is known to be shared
    }
    for code in parsed(module) {
        let code = code?;
        let weak: BTreeSet<&str> = code.weak_exports().collect();
        shared.retain(|symbol| weak.contains(symbol));
    }
    Ok(shared)
}

/// Returns the virtual functions that a module defines for other modules. They are read from the SPIR-V, because the
/// compiler does not list them as exports in the properties.
fn virtual_functions(module: &AbstractModule<'_>) -> Result<Vec<String>> {
    let set = key::VIRTUAL_FUNCTIONS_SET;
    let mut functions = Vec::new();
    if module.metadata.get(set::VIRTUAL_FUNCTIONS, set).is_some() {
        for code in parsed(module) {
            functions.extend(code?.exports().map(str::to_owned));
        }
    }
    Ok(functions)
}

/// Parses the SPIR-V images of a module.
fn parsed(module: &AbstractModule<'_>) -> impl Iterator<Item = Result<spirv::Module>> {
    let code = module.images.iter().filter_map(|image| image.spirv());
    let parsed = code.map(spirv::Module::parse);
    parsed.map(|code| code.or_else(|error| own(format!("invalid SPIR-V: {error}"))))
}

/// Returns the imports of a module, from its properties and its code.
pub(crate) fn of_module(module: &AbstractModule<'_>) -> Result<BTreeSet<String>> {
    let recorded = __private::imports(module).map(str::to_owned);
    let mut imports: BTreeSet<_> = recorded.collect();
    for code in parsed(module) {
        imports.extend(code?.imports().map(str::to_owned));
    }
    imports.extend(of_ptx(module)?);
    Ok(imports)
}

/// Returns the functions that a module's PTX calls but does not define.
pub(crate) fn of_ptx(module: &AbstractModule<'_>) -> Result<BTreeSet<String>> {
    let mut imports = BTreeSet::new();
    for image in module.images.iter().filter(|image| image.is_ptx()) {
        let text = ptx::Module::parse(&image.bytes)
            .or_else(|error| own(format!("invalid PTX: {error}")))?;
        imports.extend(text.imports);
    }
    Ok(imports)
}

/// Adds the input's name to an error.
pub(crate) fn named_with<T>(name: &str, result: Result<T>) -> Result<T> {
    result.or_else(|error| match error {
        crate::Failure::Own(text) => own(format!("'{name}': {text}")),
        other => Err(other),
    })
}

/// Returns the C++ spelling of a symbol, followed by the symbol in brackets if the two differ.
pub(crate) fn named(symbol: &str) -> String {
    let spelled = spelled(symbol);
    if spelled == symbol {
        spelled
    } else {
        format!("{spelled} [{symbol}]")
    }
}

/// The macro that leaves `assert` to the driver. Users define it on the command line, like `NDEBUG`.
pub(crate) const NATIVE_ASSERT: &str = "SYCLBIN_NATIVE_ASSERT";

/// Returns whether clang's arguments define [`NATIVE_ASSERT`], with any value.
pub(crate) fn keeps_asserts(arguments: &[String]) -> bool {
    let options = arguments.iter().enumerate();
    let options = options.filter_map(|(index, argument)| {
        let (option, name) = argument.split_at_checked(2)?;
        let name = match name {
            "" => arguments.get(index + 1)?,
            name => name,
        };
        (name.split('=').next() == Some(NATIVE_ASSERT)).then_some(option)
    });
    let mut options = options.filter(|option| ["-D", "-U"].contains(option));
    options.next_back() == Some("-D")
}

/// The function that PTX calls if an `assert` fails. NVIDIA's driver defines it.
const ASSERT_FAIL_OF_PTX: &[u8] = b"__assertfail";

/// Rejects an input whose code leaves a failed `assert` to the driver, because a failure would terminate the process
/// that launched the kernel. Sources that this program compiles already include a handler.
pub(crate) fn check_asserts(part: &InputFile) -> Result<()> {
    for module in &part.file.modules {
        let ptx = module.images.iter().filter(|image| image.is_ptx());
        let mut windows = ptx.flat_map(|image| image.bytes.windows(ASSERT_FAIL_OF_PTX.len()));
        let in_ptx = windows.any(|window| window == ASSERT_FAIL_OF_PTX);
        if in_ptx || named_with(&part.name, of_module(module))?.contains(ASSERT_FAIL) {
            return own(format!(
                "'{}' contains device code with an `assert` whose failure would end the whole process that launched \
                 the kernel; compile its source with this program, or with NDEBUG, or define {NATIVE_ASSERT} to keep \
                 the assert for devices that support it",
                part.name
            ));
        }
    }
    Ok(())
}

/// Rejects imports that would stay unresolved. Functions from DPC++'s device library are rejected in every state,
/// because this compiler does not link that library. In an executable, a module in the file must export every import.
pub(crate) fn check(parts: &[InputFile], state: State) -> Result<()> {
    let mut exported = BTreeSet::new();
    let mut imported: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for part in parts {
        for module in &part.file.modules {
            exported.extend(exports(module).map(str::to_owned));
            exported.extend(named_with(&part.name, virtual_functions(module))?);
            let imports = named_with(&part.name, of_module(module))?;
            for symbol in imports {
                imported.entry(symbol).or_default().insert(&part.name);
            }
        }
    }
    // `check_asserts` has accepted the inputs, so if this import remains, a driver defines it.
    imported.retain(|symbol, _| !exported.contains(symbol) && symbol != ASSERT_FAIL);
    let symbols = imported.keys().map(String::as_str);
    let missing: Vec<&str> = symbols
        .filter(|symbol| Import::of(symbol) == Import::DeviceLibrary)
        .collect();
    if !missing.is_empty() {
        return own(format!(
            "the device code calls functions from DPC++'s device library, which this compiler does not link: {}; \
             avoid them, or set SYCLBIN_CLANG to a DPC++ clang++",
            missing.join(", ")
        ));
    }
    if state == State::Executable && !imported.is_empty() {
        let imports = imported.iter().map(|(symbol, users)| {
            let users: Vec<_> = users.iter().copied().collect();
            format!("{}, used in {}", named(symbol), users.join(" and "))
        });
        let of_runtime = ["__cxa_throw", "__cxa_allocate_exception", "_Znw", "_Zna"];
        let is_of_runtime = |name: &String| of_runtime.iter().any(|start| name.starts_with(start));
        let hint = if imported.keys().any(is_of_runtime) {
            "device code cannot throw exceptions or allocate memory; for other symbols, "
        } else {
            ""
        };
        return own(format!(
            "undefined symbols in the device code: {}; {hint}compile the code together with the source that defines \
             them (SYCL_EXTERNAL), or to an object (-fsyclbin=object) that is linked later",
            Vec::from_iter(imports).join("; ")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;
    use syclbin::Syclbin;

    fn part(name: &str, imported: &[&'static str], exported: &[&'static str]) -> InputFile {
        let mut module = AbstractModule::default();
        for (symbols, set) in [
            (imported, set::IMPORTED_SYMBOLS),
            (exported, set::EXPORTED_SYMBOLS),
        ] {
            for &symbol in symbols {
                module.metadata.insert(set, symbol, 1u32);
            }
        }
        let mut file = Syclbin::new(State::Object);
        file.modules.push(module);
        InputFile::new(name.into(), file)
    }

    #[test]
    fn only_executables_need_all_their_symbols() {
        let parts = [
            part("a.cpp", &["_Z5shapef", "_Z4helpv"], &[]),
            part("b.cpp", &["_Z5shapef"], &["_Z4helpv"]),
        ];
        assert_eq!(check(&parts, State::Object), Ok(()));
        let Err(Failure::Own(text)) = check(&parts, State::Executable) else {
            panic!("no module defines shape");
        };
        let expected = "undefined symbols in the device code: shape(float) [_Z5shapef], used in a.cpp and \
            b.cpp;";
        assert!(text.starts_with(expected), "{text}");
        assert!(!text.contains("help"), "{text}");
        let whole = [
            parts[0].clone(),
            parts[1].clone(),
            part("c.cpp", &[], &["_Z5shapef"]),
        ];
        assert_eq!(check(&whole, State::Executable), Ok(()));
    }

    #[test]
    fn exceptions_and_allocations_have_a_hint() {
        // The last one is `operator!=`.
        for (symbol, expected) in [("__cxa_throw", true), ("_Znwm", true), ("_Zne1VS_", false)] {
            let parts = [part("a.cpp", &[symbol], &[])];
            let Err(Failure::Own(text)) = check(&parts, State::Executable) else {
                panic!("no input defines the symbol");
            };
            let hint = "device code cannot throw exceptions or allocate memory; for other symbols, compile";
            assert_eq!(text.contains(hint), expected, "{text}");
            assert!(text.contains("compile the code together"), "{text}");
        }
    }

    #[test]
    fn device_library_symbols_are_always_refused() {
        let symbols = ["__devicelib_ConvertBF16ToFINTEL", "_Z5shapef"];
        let parts = [part("a.cpp", &symbols, &[])];
        for state in [State::Input, State::Object, State::Executable] {
            let Err(Failure::Own(text)) = check(&parts, state) else {
                panic!("no input defines the symbol");
            };
            assert!(text.contains("__devicelib_ConvertBF16ToFINTEL"), "{text}");
            assert!(!text.contains("shape"), "{text}");
        }
    }

    #[test]
    fn assert_needs_opt_in_and_links_everywhere() {
        let asserting = part("a.cpp", &["__devicelib_assert_fail"], &[]);
        let Err(Failure::Own(text)) = check_asserts(&asserting) else {
            panic!("the assert was accepted");
        };
        assert!(
            text.contains("with NDEBUG") && text.contains("'a.cpp'"),
            "{text}"
        );
        assert_eq!(check_asserts(&part("b.cpp", &["_Z5shapef"], &[])), Ok(()));
        for state in [State::Input, State::Object, State::Executable] {
            assert_eq!(check(std::slice::from_ref(&asserting), state), Ok(()));
        }
    }

    #[test]
    fn assert_macro_is_found_however_defined() {
        for (arguments, kept) in [
            ("-DSYCLBIN_NATIVE_ASSERT", true),
            ("-O2 -D SYCLBIN_NATIVE_ASSERT=1 -g", true),
            ("-DSYCLBIN_NATIVE_ASSERT -USYCLBIN_NATIVE_ASSERT", false),
            ("-DSYCLBIN_NATIVE_ASSERTS -DNDEBUG", false),
            ("", false),
        ] {
            let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            assert_eq!(keeps_asserts(&arguments), kept, "{arguments:?}");
        }
    }

    #[test]
    fn virtual_functions_are_read_from_the_code() {
        let bytes = test_files::read("export_side.object.syclbin");
        let file = syclbin::read::parse(&bytes).unwrap();
        let mut module = file.modules[0].clone();
        assert_eq!(virtual_functions(&module), Ok(Vec::new()));
        let key = key::VIRTUAL_FUNCTIONS_SET;
        module
            .metadata
            .insert(set::VIRTUAL_FUNCTIONS, key, "figures");
        let functions = virtual_functions(&module).unwrap();
        assert!(
            functions.iter().any(|symbol| symbol.starts_with("_Z")),
            "{functions:?}"
        );
    }
}

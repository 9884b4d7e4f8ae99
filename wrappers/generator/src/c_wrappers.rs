//! Wrappers of C calls, generic over the ABI.

use crate::prototype::{Parameter, Prototype};
use crate::recorder::{Class, Recorder, Way, is_count};
use crate::table::{Action, Call};
use std::fmt::Write;

/// Whether a call has the arguments of MPI_Send in the same order, possibly followed by a request. Such a call
/// has a fast path in assembler.
pub fn is_plain_send(call: &Call) -> bool {
    const PLACES: [&str; 6] = ["buf", "count", "datatype", "dest", "tag", "comm"];
    let names: Vec<&str> = call.prototype.parameters.iter().map(|p| p.name.as_str()).collect();
    call.recorder().is_some_and(|r| r.name == "send" && !r.at_start)
        && names.get(..6) == Some(&PLACES)
        && matches!(names.get(6..), Some([] | ["request"]))
}

/// The function behind the entry of a call, for the handles of the family `abi`, which are 32 bits wide if `narrow`.
pub fn function(call: &Call, abi: &str, narrow: bool) -> String {
    let name = call.prototype.rust_name();
    match &call.action {
        Action::Hand { function, .. } => format!("{function}::<{abi}>"),
        _ if is_plain_send(call) => {
            format!("{name}_{}::<{abi}>", if narrow { "narrow" } else { "wide" })
        }
        _ => format!("{name}::<{abi}>"),
    }
}

/// Writes the wrapper of the entry point with this number.
pub fn wrapper(text: &mut String, number: usize, call: &Call) {
    let prototype = &call.prototype;
    let recorder = call.recorder();
    if is_plain_send(call) {
        let name = prototype.rust_name();
        let count = if prototype.name.ends_with("_c") { "MPI_Count" } else { "int" };
        let _ = writeln!(text, "// `{}`", prototype.name);
        let _ = writeln!(
            text,
            "fast_send!({name}_narrow, {name}_wide, {name}_slow, {number}, {count});\n"
        );
    } else {
        let _ = writeln!(text, "/// `{}`", prototype.name);
        begin(text, prototype, &prototype.rust_name());
        if let Some(recorder) = &recorder {
            record(text, recorder);
        }
        let recorded = recorder.and_then(|r| r.arguments.first());
        for p in prototype.parameters.iter().filter(|p| p.is_comm()) {
            if recorded != Some(&p.name) {
                let name = p.rust_name();
                let _ = writeln!(text, "        let {name} = effective::<A>({name});");
            }
        }
        if call.action == Action::Within {
            text.push_str("        let _inside = Inside::enter();\n");
        }
        pass_on(text, prototype, recorder.is_some_and(|r| r.at_start));
    }
    if let Some(recorder) = &recorder
        && recorder.may_give_none()
    {
        text.push_str("#[cold]\n#[inline(never)]\n");
        begin(text, prototype, &slow_name(prototype));
        let given = if recorder.class() == Class::OneSided { "" } else { "let comm = " };
        let _ = writeln!(text, "        {given}{};", recorder.call(Way::Slow, &list(recorder)));
        pass_on(text, prototype, false);
    }
}

/// Writes the head of a function.
fn begin(text: &mut String, prototype: &Prototype, name: &str) {
    let _ = writeln!(
        text,
        "pub unsafe extern \"C-unwind\" fn {name}<A: Abi>({}) -> c_int {{",
        prototype.signature()
    );
    text.push_str("    // SAFETY: the arguments are the program's own, as the standard asks for; the next\n    // function has the same C prototype.\n    unsafe {\n");
}

/// Writes the call of the next function and the end of a wrapper.
fn pass_on(text: &mut String, prototype: &Prototype, later: bool) {
    let call = format!("next::{}::<A>({})", prototype.rust_name(), prototype.arguments());
    if later {
        let _ = writeln!(text, "        let code = {call};");
        text.push_str(
            "        record::persistent::keep::<A>(code, request, plan);\n        code\n",
        );
    } else {
        let _ = writeln!(text, "        {call}");
    }
    text.push_str("    }\n}\n\n");
}

fn slow_name(prototype: &Prototype) -> String {
    prototype.rust_name() + "_slow"
}

/// The arguments of a recorder.
fn list(recorder: &Recorder) -> String {
    recorder.list(|p: &Parameter| match p.rust_type().as_str() {
        "c_int" if is_count(&p.name) => format!("i64::from({})", p.rust_name()),
        _ => p.rust_name(),
    })
}

/// Writes the call of a recorder, which returns the communicator to pass on. If the recorder may return `None`,
/// the slow form is called by a function of its own, which the wrapper calls by a tail call. The common path
/// then has no call in it and saves no registers.
fn record(text: &mut String, recorder: &Recorder) {
    recorder.plan(text);
    let call = recorder.call(Way::Fast, &list(recorder));
    if recorder.may_give_none() {
        let slow =
            format!("{}::<A>({})", slow_name(recorder.prototype), recorder.prototype.arguments());
        let given = if recorder.class() == Class::OneSided { "()" } else { "comm" };
        let _ = writeln!(
            text,
            "        let Some({given}) = {call} else {{\n            return {slow};\n        }};"
        );
    } else {
        let _ = writeln!(text, "        let comm = {call};");
    }
}

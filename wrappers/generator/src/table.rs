//! The calls table: what the library does at each MPI call.

use crate::prototype::{Prototype, Prototypes};

/// What is done at a call before it is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Replace the world where it is passed; record nothing.
    Translate,
    /// Call a recorder with these arguments, now or (persistent calls) at every start.
    Record { recorder: String, arguments: Vec<String>, at_start: bool },
    /// Replace the world, and record nothing that the MPI library calls meanwhile.
    Within,
    /// A function written by hand; `always`, or only while the world is replaced.
    Hand { function: String, always: bool },
}

/// One entry point.
#[derive(Debug, Clone)]
pub struct Call {
    pub prototype: Prototype,
    pub action: Action,
}

/// Reads `calls.tbl`; adds the large-count twins; drops the calls that are left alone.
pub fn parse(text: &str, prototypes: &Prototypes) -> Result<Vec<Call>, String> {
    let mut calls: Vec<Call> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fail = |what: &str| format!("calls.tbl:{}: {what}", number + 1);
        let (name, action) =
            line.split_once(char::is_whitespace).ok_or_else(|| fail("no action"))?;
        let prototype =
            prototypes.get(name).ok_or_else(|| fail(&format!("no prototype of {name}")))?;
        if calls.iter().any(|c| c.prototype.name == name) {
            return Err(fail(&format!("{name} stands here twice")));
        }
        let Some(action) = parse_action(action.trim()).map_err(|e| fail(&e))? else { continue };
        check(prototype, &action).map_err(|e| fail(&e))?;
        calls.push(Call { prototype: prototype.clone(), action: action.clone() });
        if let Some(twin) = prototypes.get(&format!("{name}_c")) {
            check(twin, &action).map_err(|e| fail(&e))?;
            let action = match action {
                Action::Hand { function, always } => {
                    Action::Hand { function: format!("{function}_c"), always }
                }
                other => other,
            };
            calls.push(Call { prototype: twin.clone(), action });
        }
    }
    Ok(calls)
}

fn parse_action(text: &str) -> Result<Option<Action>, String> {
    if text == "~" {
        return Ok(None);
    }
    if text == "-" {
        return Ok(Some(Action::Translate));
    }
    if text == "within" {
        return Ok(Some(Action::Within));
    }
    for (prefix, always) in [('!', true), ('=', false)] {
        if let Some(function) = text.strip_prefix(prefix) {
            return Ok(Some(Action::Hand { function: function.to_string(), always }));
        }
    }
    let (at_start, text) = match text.strip_prefix("start ") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let inner = text.strip_suffix(')').and_then(|t| t.split_once('('));
    let (recorder, arguments) = inner.ok_or_else(|| format!("odd action `{text}`"))?;
    Ok(Some(Action::Record {
        recorder: recorder.trim().to_string(),
        arguments: arguments.split(',').map(|a| a.trim().to_string()).collect(),
        at_start,
    }))
}

fn check(prototype: &Prototype, action: &Action) -> Result<(), String> {
    if let Action::Record { arguments, at_start, .. } = action {
        for argument in arguments {
            if !prototype.parameters.iter().any(|p| p.name == *argument) {
                return Err(format!("{} has no parameter {argument}", prototype.name));
            }
        }
        if *at_start && !prototype.parameters.iter().any(|p| p.name == "request") {
            return Err(format!("{} makes no request to start", prototype.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prototypes() -> Prototypes {
        crate::prototype::parse(
            "MPI_X\tint count, MPI_Comm comm\t3.1\nMPI_X_c\tMPI_Count count, MPI_Comm comm\t4.0\n",
        )
        .unwrap()
    }

    #[test]
    fn twins_follow_their_base() {
        let calls = parse("MPI_X  send(comm, count) # why\n", &prototypes()).unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[1].action, calls[0].action);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("MPI_X send(nope)", "no parameter nope"),
            ("MPI_Y -", "no prototype"),
            ("MPI_X", "no action"),
            ("MPI_X start send(comm)", "no request"),
            ("MPI_X -\nMPI_X -", "twice"),
        ] {
            let error = parse(text, &prototypes()).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}

//! Which modules a crate has, and which of them each of them names.
//!
//! The sources are parsed from `lib.rs` on, along the `mod` items, so that what is compiled for tests
//! only is left out. Read are `use` items with their nested groups, all other paths, and the paths in
//! the arguments and bodies of macros. Limits: paths in strings (attributes of serde) are not seen,
//! and neither are files that `include!` brings in.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// A module by its names from the root of the crate, which has none.
pub type Name = Vec<String>;

/// A path in the sources, from the root of the crate.
#[derive(Debug, Clone)]
pub struct Reference {
    pub path: Name,
    pub line: usize,
}

/// What an import makes known in a module: all that its target has, or one name.
#[derive(Debug)]
struct Import {
    path: Name,
    alias: Option<String>,
}

#[derive(Debug, Default)]
pub struct Module {
    /// The file that it is in, relative to the folder of the sources.
    pub file: PathBuf,
    pub references: Vec<Reference>,
    items: BTreeSet<String>,
    imports: Vec<Import>,
}

/// All modules of a crate.
#[derive(Debug, Default)]
pub struct Crate {
    pub modules: BTreeMap<Name, Module>,
}

/// Gives the text of a source file, by its path in the folder of the sources.
pub trait Files {
    fn read(&self, path: &Path) -> Option<String>;
}

/// A folder of the disk.
pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&self, path: &Path) -> Option<String> {
        std::fs::read_to_string(self.0.join(path)).ok()
    }
}

impl Crate {
    /// Reads a crate from its `lib.rs` on. Errors: a file that is missing or is not Rust.
    pub fn read(files: &dyn Files) -> Result<Crate, String> {
        let mut found = Crate::default();
        found.file(files, Vec::new(), Path::new("lib.rs"))?;
        found.keep_only_paths_of_this_crate();
        Ok(found)
    }

    /// The module that a path leads to: through imports to where the last name is defined, as far as
    /// that can be told.
    pub fn home(&self, path: &[String]) -> Name {
        self.follow(path, 16)
    }

    fn follow(&self, path: &[String], patience: usize) -> Name {
        let mut here = Name::new();
        for (k, segment) in path.iter().enumerate() {
            here.push(segment.clone());
            if self.modules.contains_key(&here) {
                continue;
            }
            here.pop();
            let Some(module) = self.modules.get(&here) else { return here };
            if patience == 0 || module.items.contains(segment) {
                return here;
            }
            let rest = &path[k + 1..];
            let named = |i: &&Import| i.alias.as_ref() == Some(segment);
            if let Some(import) = module.imports.iter().find(named) {
                let onward: Name = import.path.iter().chain(rest).cloned().collect();
                return self.follow(&onward, patience - 1);
            }
            for import in module.imports.iter().filter(|i| i.alias.is_none()) {
                let home = self.follow(&import.path, patience - 1);
                if self.modules.get(&home).is_some_and(|m| m.knows(segment)) {
                    let onward: Name =
                        home.into_iter().chain([segment.clone()]).chain(rest.to_vec()).collect();
                    return self.follow(&onward, patience - 1);
                }
            }
            return here;
        }
        here
    }

    fn file(&mut self, files: &dyn Files, name: Name, path: &Path) -> Result<(), String> {
        let text = files.read(path).ok_or_else(|| format!("{}: not there", path.display()))?;
        let parsed = syn::parse_file(&text)
            .map_err(|e| format!("{}:{}: {e}", path.display(), e.span().start().line))?;
        self.items(files, name, path, &parsed.items)
    }

    fn items(
        &mut self,
        files: &dyn Files,
        name: Name,
        path: &Path,
        items: &[syn::Item],
    ) -> Result<(), String> {
        let mut reader = Reader::new(name.clone(), path);
        for item in items {
            reader.visit_item(item);
        }
        let inner = std::mem::take(&mut reader.inner);
        for exported in std::mem::take(&mut reader.exported) {
            let import = Import {
                path: name.iter().cloned().chain([exported.clone()]).collect(),
                alias: Some(exported),
            };
            self.modules.entry(Name::new()).or_default().imports.push(import);
        }
        let module = self.modules.entry(name.clone()).or_default();
        module.imports.extend(std::mem::take(&mut reader.module.imports));
        module.file = reader.module.file;
        module.items = reader.module.items;
        module.references = reader.module.references;
        for item in inner {
            let mut child = name.clone();
            child.push(item.ident.to_string());
            match &item.content {
                Some((_, content)) => self.items(files, child, path, content)?,
                None => {
                    let file = file_of(files, path, item)?;
                    self.file(files, child, &file)?;
                }
            }
        }
        Ok(())
    }

    /// A path in code may begin with a module of this crate, a crate that is used, or a name in
    /// scope: kept are those whose first name is a module.
    fn keep_only_paths_of_this_crate(&mut self) {
        let modules: BTreeSet<Name> = self.modules.keys().cloned().collect();
        let of_this_crate = |path: &[String]| {
            path.first().is_some_and(|first| first != OUTSIDE)
                || path.len() > 1 && (2..=path.len()).any(|end| modules.contains(&path[1..end]))
        };
        for module in self.modules.values_mut() {
            module.references.retain(|r| of_this_crate(&r.path));
            module.imports.retain(|i| of_this_crate(&i.path));
            let paths = module.references.iter_mut().map(|r| &mut r.path);
            for path in paths.chain(module.imports.iter_mut().map(|i| &mut i.path)) {
                if path.first().is_some_and(|first| first == OUTSIDE) {
                    path.remove(0);
                }
            }
        }
    }
}

impl Module {
    fn knows(&self, name: &str) -> bool {
        self.items.contains(name) || self.imports.iter().any(|i| i.alias.as_deref() == Some(name))
    }
}

/// The file of `mod name;` in the file `parent`.
fn file_of(files: &dyn Files, parent: &Path, item: &syn::ItemMod) -> Result<PathBuf, String> {
    let folder = parent.parent().unwrap_or(Path::new(""));
    for attribute in &item.attrs {
        if attribute.path().is_ident("path")
            && let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(value) = &pair.value
            && let syn::Lit::Str(text) = &value.lit
        {
            return Ok(folder.join(text.value()));
        }
    }
    let name = item.ident.to_string();
    let of_folder = ["lib.rs", "main.rs", "mod.rs"].iter().any(|n| parent.ends_with(n));
    let inside = if of_folder { folder.to_path_buf() } else { parent.with_extension("") };
    let candidates = [inside.join(format!("{name}.rs")), inside.join(&name).join("mod.rs")];
    let found = candidates.into_iter().find(|path| files.read(path).is_some());
    found.ok_or_else(|| format!("{}: no file for mod {name}", parent.display()))
}

/// Marks a path that may begin outside of this crate, with a name of its own.
const OUTSIDE: &str = "?";

/// Collects what one module names.
struct Reader<'a> {
    name: Name,
    module: Module,
    inner: Vec<&'a syn::ItemMod>,
    /// Macros that `#[macro_export]` puts at the root of the crate.
    exported: Vec<String>,
}

impl Reader<'_> {
    fn new(name: Name, file: &Path) -> Self {
        let module = Module { file: file.to_path_buf(), ..Module::default() };
        Reader { name, module, inner: Vec::new(), exported: Vec::new() }
    }

    /// A path as it is written, from the root of the crate.
    fn path_from_root(&self, written: &[String]) -> Name {
        let first = written.first().map(String::as_str);
        let mut path = match first {
            Some("crate") => Name::new(),
            Some("self" | "super") => self.name.clone(),
            // Relative to this module, or outside: decided when all modules are known.
            _ => [OUTSIDE.to_string()].into_iter().chain(self.name.iter().cloned()).collect(),
        };
        for (k, segment) in written.iter().enumerate() {
            match segment.as_str() {
                "crate" | "self" if k == 0 => {}
                "self" => {}
                "super" => {
                    path.pop();
                }
                _ => path.push(segment.clone()),
            }
        }
        path
    }

    fn refer(&mut self, written: &[String], line: usize) {
        if written.len() > 1 {
            let path = self.path_from_root(written);
            self.module.references.push(Reference { path, line });
        }
    }

    fn import(&mut self, tree: &syn::UseTree, before: &mut Name) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before);
                before.pop();
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before);
                }
            }
            syn::UseTree::Name(name) => {
                let known = match name.ident.to_string() {
                    this if this == "self" => before.last().cloned(),
                    other => Some(other),
                };
                self.imported(&name.ident, known, before);
            }
            syn::UseTree::Rename(rename) => {
                self.imported(&rename.ident, Some(rename.rename.to_string()), before);
            }
            syn::UseTree::Glob(glob) => {
                let path = self.path_from_root(before);
                let line = glob.star_token.spans[0].start().line;
                self.module.references.push(Reference { path: path.clone(), line });
                self.module.imports.push(Import { path, alias: None });
            }
        }
    }

    fn imported(&mut self, ident: &syn::Ident, alias: Option<String>, before: &Name) {
        let written: Name = before.iter().cloned().chain([ident.to_string()]).collect();
        let path = self.path_from_root(&written);
        self.refer(&written, ident.span().start().line);
        self.module.imports.push(Import { path, alias });
    }

    /// Paths among the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Name::new();
        let mut line = 0;
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.refer(&std::mem::take(&mut path), line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    if let TokenTree::Group(group) = &other {
                        let nested = if colons == 2 { path.clone() } else { Name::new() };
                        self.group(group.stream(), &nested);
                    }
                    self.refer(&std::mem::take(&mut path), line);
                    colons = 0;
                }
            }
        }
        self.refer(&path, line);
    }

    /// Tokens in brackets: behind `a::` they are the group of an import in a macro's body.
    fn group(&mut self, tokens: TokenStream, before: &[String]) {
        if let (Some(_), Some(first)) = (before.first(), tokens.clone().into_iter().next()) {
            self.refer(before, first.span().start().line);
        }
        self.tokens(tokens);
    }
}

/// Is this compiled for tests only?
fn tests_only(attributes: &[syn::Attribute]) -> bool {
    fn demands(tokens: TokenStream) -> bool {
        let all: Vec<_> = tokens.into_iter().collect();
        match all.as_slice() {
            [TokenTree::Ident(name)] => name == "test",
            [TokenTree::Ident(name), TokenTree::Group(group)] if name == "all" => {
                let parts: Vec<_> = group.stream().into_iter().collect();
                parts
                    .split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ','))
                    .any(|part| demands(part.iter().cloned().collect()))
            }
            _ => false,
        }
    }
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && matches!(&attribute.meta, syn::Meta::List(list) if demands(list.tokens.clone()))
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item::{Const, Enum, Fn, Impl, Macro, Mod, Static, Struct, Trait, Type, Union, Use};
    match item {
        Const(i) => &i.attrs,
        Enum(i) => &i.attrs,
        Fn(i) => &i.attrs,
        Impl(i) => &i.attrs,
        Macro(i) => &i.attrs,
        Mod(i) => &i.attrs,
        Static(i) => &i.attrs,
        Struct(i) => &i.attrs,
        Trait(i) => &i.attrs,
        Type(i) => &i.attrs,
        Union(i) => &i.attrs,
        Use(i) => &i.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Reader<'a> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if tests_only(attributes(item)) {
            return;
        }
        use syn::Item::{Const, Enum, Fn, Macro, Mod, Static, Struct, Trait, Type, Union, Use};
        let defined = match item {
            Const(i) => Some(&i.ident),
            Enum(i) => Some(&i.ident),
            Fn(i) => Some(&i.sig.ident),
            Static(i) => Some(&i.ident),
            Struct(i) => Some(&i.ident),
            Trait(i) => Some(&i.ident),
            Type(i) => Some(&i.ident),
            Union(i) => Some(&i.ident),
            Macro(i) => {
                let exported = i.attrs.iter().any(|a| a.path().is_ident("macro_export"));
                if let (true, Some(ident)) = (exported && !self.name.is_empty(), &i.ident) {
                    self.exported.push(ident.to_string());
                }
                i.ident.as_ref()
            }
            Use(i) => {
                self.import(&i.tree, &mut Name::new());
                return;
            }
            Mod(i) => {
                self.inner.push(i);
                return;
            }
            _ => None,
        };
        if let Some(ident) = defined {
            self.module.items.insert(ident.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Fn(i) => i.attrs.as_slice(),
            syn::ImplItem::Const(i) => i.attrs.as_slice(),
            _ => &[],
        };
        if !tests_only(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let written: Name = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let (None, Some(first)) = (&path.leading_colon, path.segments.first()) {
            self.refer(&written, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    // `pub(in crate::a)` names nothing that is used.
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    // Those that matter (derive, cfg, doc) name nothing of this crate.
    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
}

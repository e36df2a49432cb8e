//! The names and summary lines of one source file.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    AttrStyle, Attribute, Expr, ExprLit, Ident, ImplItemFn, Item, ItemEnum, ItemFn, ItemImpl, ItemStruct,
    ItemTrait, ItemType, Lit, LitStr, Macro, Meta,
};

use super::prose;
use crate::tidy::product::{is_for_tests, is_test};

/// The names in the product code of a file, each with its line number.
#[derive(Debug, Default)]
pub(super) struct SourceNames {
    /// The first sentence of each doc comment.
    pub(super) summaries: Vec<(usize, String)>,
    pub(super) types: Vec<(usize, String)>,
    /// Free functions and inherent methods.
    pub(super) functions: Vec<(usize, String)>,
    /// Functions with an attribute `test`, in test modules too. Those that a macro declares are not found.
    pub(super) tests: Vec<(usize, String)>,
    /// The messages of error types, as in `#[error("…")]`.
    pub(super) messages: Vec<(usize, String)>,
    /// The doc comment that is being read.
    comment: Option<DocComment>,
}

#[derive(Debug)]
struct DocComment {
    first_line: usize,
    last_line: usize,
    /// True for `//!`.
    is_inner: bool,
    /// The first paragraph.
    paragraph: String,
    /// True after the first paragraph.
    is_complete: bool,
}

impl SourceNames {
    pub(super) fn read(text: &str) -> syn::Result<Self> {
        let file = syn::parse_file(text)?;
        let mut source = Self::default();
        source.visit_file(&file);
        source.end_comment();
        let mut tests = TestNames(Vec::new());
        tests.visit_file(&file);
        source.tests = tests.0;
        Ok(source)
    }

    fn end_comment(&mut self) {
        let Some(comment) = self.comment.take() else { return };
        let summary = prose::split(&comment.paragraph).next();
        self.summaries.extend(summary.map(|summary| (comment.first_line, summary)));
    }

    fn add_doc_line(&mut self, at: usize, is_inner: bool, text: &str) {
        let continues = |comment: &DocComment| comment.last_line + 1 == at && comment.is_inner == is_inner;
        if !self.comment.as_ref().is_some_and(continues) {
            self.end_comment();
        }
        let new = DocComment {
            first_line: at,
            last_line: at,
            is_inner,
            paragraph: String::new(),
            is_complete: false,
        };
        let comment = self.comment.get_or_insert(new);
        comment.last_line = at;
        comment.is_complete |= text.is_empty();
        if !comment.is_complete {
            comment.paragraph = format!("{} {text}", comment.paragraph);
        }
    }

    /// Reads the doc comments in the arguments of a macro call, which `syn` leaves unparsed.
    fn read_macro_docs(&mut self, tokens: TokenStream) {
        let mut pound = None;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => pound = Some((punct.span(), false)),
                TokenTree::Punct(punct) if punct.as_char() == '!' => {
                    pound = pound.map(|(span, _)| (span, true));
                }
                TokenTree::Group(group) => match (pound.take(), macro_doc_line(group.stream())) {
                    (Some((span, is_inner)), Some(text)) => {
                        self.add_doc_line(line_number(span), is_inner, &text);
                    }
                    _ => self.read_macro_docs(group.stream()),
                },
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => pound = None,
            }
        }
    }

    fn add_type(&mut self, ident: &Ident) {
        self.types.push((line_number(ident.span()), ident.to_string()));
    }

    fn add_function(&mut self, ident: &Ident) {
        self.functions.push((line_number(ident.span()), ident.to_string()));
    }
}

impl<'ast> Visit<'ast> for SourceNames {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add_type(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add_type(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.add_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.add_type(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add_function(&item.sig.ident);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if item.trait_.is_none() {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !function.attrs.iter().any(is_test) {
            self.add_function(&function.sig.ident);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        self.messages.extend(error_message(attribute));
        if let Some(text) = doc_line(attribute) {
            let is_inner = matches!(attribute.style, AttrStyle::Inner(_));
            self.add_doc_line(line_number(attribute.pound_token.span), is_inner, &text);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.read_macro_docs(call.tokens.clone());
    }
}

/// The names of the functions with an attribute `test`, each with its line number.
struct TestNames(Vec<(usize, String)>);

impl<'ast> Visit<'ast> for TestNames {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let names_test = |attribute: &Attribute| {
            attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
        };
        if item.attrs.iter().any(names_test) {
            self.0.push((line_number(item.sig.ident.span()), item.sig.ident.to_string()));
        }
    }
}

fn line_number(span: Span) -> usize {
    span.start().line
}

/// The message of an attribute `error` with its line.
fn error_message(attribute: &Attribute) -> Option<(usize, String)> {
    let Meta::List(list) = &attribute.meta else { return None };
    let first = list.path.is_ident("error").then(|| list.tokens.clone().into_iter().next())??;
    let text = syn::parse_str::<LitStr>(&first.to_string()).ok()?;
    Some((line_number(attribute.pound_token.span), text.value()))
}

/// Returns the text of one line of a doc comment.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else { return None };
    meta.path.is_ident("doc").then(|| text.value().trim().to_owned())
}

/// Returns the text of `doc = "…"` between the brackets of an attribute.
fn macro_doc_line(attribute: TokenStream) -> Option<String> {
    let mut tokens = attribute.into_iter();
    let (name, sign, value) = (tokens.next()?, tokens.next()?, tokens.next()?);
    if name.to_string() != "doc" || sign.to_string() != "=" {
        return None;
    }
    let text = syn::parse_str::<LitStr>(&value.to_string()).ok()?;
    Some(text.value().trim().to_owned())
}

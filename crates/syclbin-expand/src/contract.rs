//! Contracts: conditions over the arguments of a kernel, checked at launch.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syclbin::signature::KernelSignature;

use crate::condition::{Condition, FORM, Named, Relation, Side, keyword, split, ungrouped};
use crate::cpp_name::CppName;
use crate::reach;
use crate::rust_type::Types;
use crate::spelled::spelled;
use crate::sum::Numbers;
use crate::terms::{Terms, Value};

/// The conditions of a kernel.
pub(crate) struct Contract {
    conditions: Vec<Condition>,
    /// Dimension k of a kernel is `range[k]` only if the range has as many dimensions as the kernel.
    /// How many that are is not in the file; what conditions name tells, or one that says so.
    dimensions: Option<Condition>,
    /// Whether it was not read, of which enough was said.
    unreadable: bool,
}

/// What is checked at a launch.
pub(crate) struct Checked {
    /// All conditions, those included that the others imply.
    pub(crate) texts: Vec<String>,
    /// The function that checks them: a closure over nothing.
    pub(crate) function: TokenStream,
}

impl Contract {
    /// Reads the conditions behind `where`. What they name is looked at by [`Self::check`].
    pub(crate) fn parse(conditions: &[TokenStream]) -> Result<Self, syn::Error> {
        let mut read = Vec::new();
        let mut errors: Option<syn::Error> = None;
        for tokens in conditions {
            let condition = syn::parse2(tokens.clone())
                .map_err(|error| keyword(tokens).unwrap_or(syn::Error::new(error.span(), FORM)))
                .and_then(|expression| split(&expression, &mut read));
            if let Err(error) = condition {
                match &mut errors {
                    Some(errors) => errors.combine(error),
                    None => errors = Some(error),
                }
            }
        }
        let mut named = Named::default();
        for condition in &read {
            named.look(&condition.left.expression);
            named.look(&condition.right.expression);
        }
        let dimensions = match named {
            Named {
                last: Some(last),
                count: false,
            } => {
                let count = Literal::usize_unsuffixed(last + 1);
                let mut implied = Vec::new();
                split(
                    &syn::parse_quote!(range.dimensions() == #count),
                    &mut implied,
                )?;
                implied.pop()
            }
            _ => None,
        };
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Self {
                conditions: read,
                dimensions,
                unreadable: false,
            }),
        }
    }

    /// Stands for one that cannot be read.
    pub(crate) const fn unreadable() -> Self {
        Self {
            conditions: Vec::new(),
            dimensions: None,
            unreadable: true,
        }
    }

    /// The conditions that are written, and the one on dimensions. A kernel that is compiled for a
    /// work-group size cannot be launched over other dimensions.
    fn written(&self, kernel: &KernelSignature) -> impl Iterator<Item = &Condition> {
        let implied = self.dimensions.iter();
        let implied = implied.filter(|_| kernel.required_local_size.is_none());
        implied.chain(&self.conditions)
    }

    /// What is checked at a launch of `kernel`.
    ///
    /// # Errors
    ///
    /// When a condition names what the kernel does not have, or what is no integer; and when no
    /// condition bounds a buffer. All that is wrong.
    pub(crate) fn check(
        &self,
        kernel: &KernelSignature,
        item: &CppName,
        types: &Types<'_>,
        depth: usize,
    ) -> Result<Checked, Vec<syn::Error>> {
        let parameters = kernel.parameters.as_deref().unwrap_or_default();
        let mut terms = Terms::new(kernel, types, depth);
        let (mut written, mut errors) = (Vec::new(), Vec::new());
        let mut differences = Differences::default();
        for condition in self.written(kernel) {
            let sides =
                [&condition.left, &condition.right].map(|side| terms.number(&side.expression));
            let [left, right] = sides.map(|side| side.map_err(|error| errors.push(error)).ok());
            let blamed = terms.blamed();
            let (Some(left), Some(right)) = (left, right) else {
                continue;
            };
            let Condition { text, relation, .. } = condition;
            terms.bounds.compare(&left.sum, *relation, &right.sum);
            for (side, value, other) in [
                (&condition.left, &left, &right),
                (&condition.right, &right, &left),
            ] {
                differences.add(side, value, other, blamed);
            }
            differences.conditions += 1;
            let sides = [&*condition.left.text, &*condition.right.text];
            let check = holds(text, blamed, *relation, sides, [left.code, right.code]);
            written.push((text.clone(), check));
        }
        let bools = reach::bools(parameters, types);
        // Of a condition with a mistake it is not known what it bounds.
        if !self.unreadable {
            let bounded = match errors.is_empty() {
                true => terms.bounds.bounded(),
                false => terms.named.clone(),
            };
            let mut missing = reach::missing(parameters, types, &bounded, &terms.named);
            missing.extend(bools.as_ref().err().cloned());
            errors.extend(missing.into_iter().map(|message| item.error(message)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let bools = bools.unwrap_or_default();
        let mut all: Vec<(String, TokenStream)> = Vec::new();
        let natural = terms.bounds.natural_numbers();
        let signed = terms.signed.iter();
        let signed = signed.filter(|(number, _)| natural.contains(number));
        let signed = signed.map(|(_, implied)| implied);
        let binding = terms.bounds.binding();
        let differences = differences.beside_lengths(&binding);
        let numbers = terms.unsure.iter().chain(signed).chain(differences);
        let implied = numbers.chain(&bools).map(Implied::check);
        for (text, check) in implied.chain(written) {
            // A number may be named twice, and what it implies be written.
            if all.iter().all(|(other, _)| *other != text) {
                all.push((text, check));
            }
        }
        let aligned = reach::alignments(parameters, types, &terms.aligned);
        all.extend(aligned.iter().map(Implied::check));
        let (texts, checks): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let given = match checks.is_empty() {
            true => quote!(_),
            false => quote!(given),
        };
        let function = quote! {
            |#given| {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        };
        Ok(Checked { texts, function })
    }
}

/// Sides of conditions that can be negative although no number in them is, such as `n - 1`.
#[derive(Default)]
struct Differences {
    found: Vec<Difference>,
    /// Those that a condition compares with a number as it stands.
    stated: BTreeSet<String>,
    /// How many conditions there were.
    conditions: usize,
}

struct Difference {
    condition: usize,
    implied: Implied,
}

impl Differences {
    /// Adds `side` of the next condition, if it is one.
    fn add(&mut self, side: &Side, value: &Value, other: &Value, blamed: Option<usize>) {
        let text = spelled(ungrouped(&side.expression));
        let without_length = value.sum.lengths().is_empty() && !value.sum.is_constant();
        if !without_length || value.sum.is_natural(&Numbers::new()) {
            return;
        }
        if other.sum.is_constant() {
            self.stated.insert(text);
            return;
        }
        let implied = Implied::natural(blamed, text, value.code.clone());
        self.found.push(Difference {
            condition: self.conditions,
            implied,
        });
    }

    /// That they are at least 0 where they bound a length, unless the contract says how small they
    /// may be.
    fn beside_lengths(&self, binding: &[bool]) -> impl Iterator<Item = &Implied> {
        let found = self.found.iter();
        let found = found.filter(|found| binding.get(found.condition) == Some(&true));
        let found = found.filter(|found| !self.stated.contains(&found.implied.text));
        found.map(|found| &found.implied)
    }
}

/// A condition that nobody wrote, on a number in an argument.
pub(crate) struct Implied {
    argument: Option<usize>,
    /// The number, as conditions write it and as it is read.
    text: String,
    number: TokenStream,
    /// How it is spelled and what it is called.
    relation: (&'static str, Relation),
    /// What it is compared with, as conditions would write it and as it is read.
    bound: (String, TokenStream),
}

impl Implied {
    /// From 0 on a signed number is the same when it is taken for an unsigned one.
    pub(crate) fn natural(argument: Option<usize>, text: String, number: TokenStream) -> Self {
        Self {
            argument,
            text,
            number,
            relation: (">=", Relation::GreaterOrEqual),
            bound: ("0".into(), quote!(0i128)),
        }
    }

    /// Rust has a byte for a `bool` in memory, and one that is neither 0 nor 1 is undefined in C++.
    pub(crate) fn bool(argument: usize, text: String, number: TokenStream) -> Self {
        Self {
            argument: Some(argument),
            text,
            number,
            relation: ("<=", Relation::LessOrEqual),
            bound: ("1".into(), quote!(1i128)),
        }
    }

    /// What `argument`, called `name`, points to is aligned to so many bytes; to as many as the device
    /// aligns all memory to, where they are not known.
    pub(crate) fn aligned(argument: usize, name: &str, bytes: Option<u64>) -> Self {
        let position = Literal::usize_unsuffixed(argument);
        let bound = match bytes {
            Some(bytes) => {
                let value = Literal::i128_suffixed(bytes.into());
                (bytes.to_string(), quote!(#value))
            }
            None => (
                "device.align()".into(),
                quote!(given.device_align(#position)),
            ),
        };
        Self {
            argument: Some(argument),
            text: format!("{name}.align()"),
            number: quote!(given.align(#position)),
            relation: (">=", Relation::Aligned),
            bound,
        }
    }

    /// The condition as it would be written, and the check.
    fn check(&self) -> (String, TokenStream) {
        let (sign, relation) = self.relation;
        let (bound, value) = &self.bound;
        let text = format!("{} {sign} {bound}", self.text);
        let check = holds(
            &text,
            self.argument,
            relation,
            [&self.text, bound],
            [self.number.clone(), value.clone()],
        );
        (text, check)
    }
}

/// The check of one condition.
fn holds(
    text: &str,
    argument: Option<usize>,
    relation: Relation,
    [left, right]: [&str; 2],
    [left_value, right_value]: [TokenStream; 2],
) -> TokenStream {
    let argument = match argument {
        Some(index) => {
            let index = Literal::usize_unsuffixed(index);
            quote!(::core::option::Option::Some(#index))
        }
        None => quote!(::core::option::Option::None),
    };
    let relation = format_ident!("{relation:?}");
    quote! {
        given.holds(
            &::syclbin_rt::contract::Condition {
                text: #text,
                argument: #argument,
                left: #left,
                relation: ::syclbin_rt::contract::Relation::#relation,
                right: #right,
            },
            #left_value,
            #right_value,
        )?;
    }
}

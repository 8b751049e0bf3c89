//! Contracts: conditions over the arguments of a kernel, checked at launch.
//!
//! | module | what it has |
//! |---|---|
//! | `condition`, `spelling` | a condition as it is read, and as people write it |
//! | `terms`, `subobject` | what expressions mean, and which bytes of an argument a member is |
//! | `sum`, `bounds` | what expressions come to, and which lengths that bounds |
//! | `safety` | what a safe launch needs, whatever the conditions are |
//! | `differences`, `implied` | conditions that nobody has to write, and the check of any condition |

pub(crate) mod bounds;
pub(crate) mod condition;
pub(crate) mod differences;
pub(crate) mod implied;
pub(crate) mod safety;
pub(crate) mod spelling;
pub(crate) mod subobject;
pub(crate) mod sum;
pub(crate) mod terms;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::KernelSignature;

use crate::contract::condition::{Condition, FORM, RangeUse, keyword, split};
use crate::contract::differences::Differences;
use crate::contract::implied::{Implied, holds};
use crate::contract::terms::Terms;
use crate::names::cpp_name::CppName;
use crate::types::Types;

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
        let mut range = RangeUse::default();
        for condition in &read {
            range.look(&condition.left.expression);
            range.look(&condition.right.expression);
        }
        let dimensions = match range {
            RangeUse {
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
        let bools = safety::bools(parameters, types);
        // Of a condition with a mistake it is not known what it bounds.
        if !self.unreadable {
            let bounded = if errors.is_empty() {
                terms.bounds.bounded()
            } else {
                terms.named.clone()
            };
            let mut missing = safety::missing(parameters, types, &bounded, &terms.named);
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
        let aligned = safety::alignments(parameters, types, &terms.aligned);
        all.extend(aligned.iter().map(Implied::check));
        let (texts, checks): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let launch = if checks.is_empty() {
            quote!(_)
        } else {
            quote!(given)
        };
        let function = quote! {
            |#launch| {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        };
        Ok(Checked { texts, function })
    }
}

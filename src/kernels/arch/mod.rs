//! One file per instruction set: a token that proves it, its operations, its table.

use super::Kernels;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

/// An instruction set, and whether this CPU has it.
pub(super) struct Candidate {
    pub(super) detect: fn() -> bool,
    pub(super) kernels: &'static Kernels,
}

/// Best first; the last one always runs.
pub(super) static CANDIDATES: &[Candidate] = &[
    #[cfg(target_arch = "x86_64")]
    Candidate { detect: avx512::detect, kernels: &avx512::KERNELS },
    #[cfg(target_arch = "x86_64")]
    Candidate { detect: avx2::detect, kernels: &avx2::KERNELS },
    #[cfg(target_arch = "aarch64")]
    Candidate { detect: neon::detect, kernels: &neon::KERNELS },
    Candidate { detect: || true, kernels: &portable::KERNELS },
];

/// Instantiates every kernel for the token that `$token` makes: `KERNELS`, and a function for each of its entries.
///
/// With features, a kernel is compiled inside a function that enables them, which is the one dispatch point.
macro_rules! kernels {
    ($name:literal, $token:expr $(, features = $features:literal)?) => {
        use $crate::kernels::generic::{self, Element};
        use $crate::kernels::{Band, Base, Block, Bracket, Kernels, Near, Part, Readers};

        pub(super) static KERNELS: Kernels =
            Kernels { name: $name, f32: readers(), f16: readers(), bf16: readers(), multiply, mask };

        const fn readers<E: Element>() -> Readers<E> {
            Readers {
                scan, scan_above, scan_copy, scan_except, rescan, lane_maxima, mass, mass_rough, mass_estimate, mass_out,
                mass_from, mass_from_rough, estimate, bracket, bracket_exact, add_inside, band, weights, moment, spread, least,
                gather, gather_between, position, count, shift,
                subtract, copy,
            }
        }

        $crate::kernels::arch::kernels! { @instantiate $token, ($($features)?),
            fn scan<E>(xs: &[E], blocks: &mut [Block]) -> bool = generic::scan::scan;
            fn scan_above<E>(
                xs: &[E], distance: f64, blocks: &mut [Block], parts: &mut [Part], values: &mut [f32]
            ) -> bool = generic::above::scan_above;
            fn scan_copy<E>(xs: &[E], mask: Option<&[u32]>, out: &mut [f32], blocks: &mut [Block]) -> bool
                = generic::scan::scan_copy;
            fn scan_except<E>(xs: &[E], except: &[u32], blocks: &mut [Block]) -> bool = generic::scan::scan_except;
            fn rescan<E>(xs: &[E], except: &[u32], stale: &[u32], blocks: &mut [Block]) -> ()
                = generic::scan::rescan;
            fn lane_maxima<E>(xs: &[E], span: usize, except: &[u32], maxima: &mut [f32]) -> ()
                = generic::scan::lane_maxima;
            fn mass<E>(xs: &[E], base: Base, blocks: &mut [Block]) -> bool = generic::mass::mass::<_, _, true>;
            fn mass_rough<E>(xs: &[E], base: Base, blocks: &mut [Block]) -> bool = generic::mass::mass::<_, _, false>;
            fn mass_estimate<E>(xs: &[E], base: Base, blocks: &mut [Block]) -> bool = generic::estimate::mass_estimate;
            fn mass_out<E>(xs: &[E], base: Base, blocks: &mut [Block], out: &mut [f32]) -> bool
                = generic::mass::mass_out;
            fn mass_from<E>(xs: &[E], base: Base, max: f32, threshold: f32, blocks: &mut [Block]) -> ()
                = generic::mass::mass_from::<_, _, true>;
            fn mass_from_rough<E>(xs: &[E], base: Base, max: f32, threshold: f32, blocks: &mut [Block]) -> ()
                = generic::mass::mass_from::<_, _, false>;
            fn estimate<E>(xs: &[E], base: Base, max: f32, blocks: &mut [Block]) -> () = generic::estimate::estimate;
            fn bracket<E>(
                xs: &[E], base: Base, bracket: Bracket, blocks: &mut [Block], parts: &mut [Part], values: &mut [f32]
            ) -> () = generic::bracket::bracket::<_, _, false>;
            fn bracket_exact<E>(
                xs: &[E], base: Base, bracket: Bracket, blocks: &mut [Block], parts: &mut [Part], values: &mut [f32]
            ) -> () = generic::bracket::bracket::<_, _, true>;
            fn add_inside<E>(
                xs: &[E], base: Base, max: f32, threshold: f32, parts: &[Part], blocks: &mut [Block]
            ) -> () = generic::bracket::add_inside;
            fn band<E>(xs: &[E], base: Base, max: f32, band: Band, values: &mut [f32]) -> Near = generic::band::band;
            fn weights<E>(xs: &[E], base: Base, max: f32, out: &mut [f32]) -> () = generic::mass::weights;
            fn moment<E>(xs: &[E], base: Base, max: f32) -> f64 = generic::mass::moment;
            fn spread<E>(xs: &[E], center: f32) -> [f64; 2] = generic::spread::spread;
            fn least<E>(xs: &[E]) -> f32 = generic::spread::least;
            fn gather<E>(
                xs: &[E], blocks: &[Block], threshold: f32, except: &[u32], values: &mut [f32], indices: &mut [u32]
            ) -> usize = generic::gather::gather;
            fn gather_between<E>(
                xs: &[E], blocks: &[Block], range: [f32; 2], values: &mut [f32], indices: &mut [u32]
            ) -> usize = generic::gather::gather_between;
            fn position<E>(xs: &[E], threshold: f32) -> Option<usize> = generic::lookup::position;
            fn count<E>(xs: &[E], threshold: f32) -> usize = generic::lookup::count;
            fn shift<E>(xs: &[E], max: f32, out: &mut [f32]) -> () = generic::write::shift;
            fn subtract<E>(xs: &[E], max: f32, log_total: f32, out: &mut [f32]) -> () = generic::write::subtract;
            fn copy<E>(xs: &[E], except: &[u32], out: &mut [f32]) -> () = generic::write::copy;
            fn multiply(xs: &mut [f32], factor: [f32; 2]) -> () = generic::write::multiply;
            fn mask(xs: &mut [f32], words: &[u32]) -> () = generic::write::mask;
        }
    };
    (@instantiate $token:expr, ($features:literal), $(
        fn $kernel:ident$(<$e:ident>)?($($arg:ident: $type:ty),*) -> $result:ty = $generic:path;
    )*) => { $(
        fn $kernel$(<$e: Element>)?($($arg: $type),*) -> $result {
            #[target_feature(enable = $features)]
            fn inner$(<$e: Element>)?($($arg: $type),*) -> $result {
                $generic($token, $($arg),*)
            }
            // SAFETY: this function is reached through the table alone, and the table only after `detect`, which
            // asks for the same features as `inner` enables.
            #[expect(unsafe_code, reason = "the one dispatch point")]
            unsafe { inner($($arg),*) }
        }
    )* };
    (@instantiate $token:expr, (), $(
        fn $kernel:ident$(<$e:ident>)?($($arg:ident: $type:ty),*) -> $result:ty = $generic:path;
    )*) => { $(
        fn $kernel$(<$e: Element>)?($($arg: $type),*) -> $result {
            $generic($token, $($arg),*)
        }
    )* };
}
pub(crate) use kernels;

//! Laws for every cluster and every demand.

use fhpa::decision::capacity::{Answer, Demand, PODS, Stock, Summary, smallest};
use proptest::prelude::*;

const NAMES: [&str; 4] = ["cpu", "memory", "nvidia.com/gpu", PODS];

type Stocks = [Option<(i128, i128)>; 4];
type Asked = [i128; 3];

fn summary(stocks: &Stocks) -> Summary {
    let stock = |(name, stock): (&str, &Option<(i128, i128)>)| {
        stock.map(|(allocatable, taken)| (name.to_owned(), Stock { allocatable, taken }))
    };
    NAMES.into_iter().zip(stocks).filter_map(stock).collect()
}

fn demand(asked: &Asked) -> Demand {
    NAMES.into_iter().zip(asked).map(|(name, amount)| (name.to_owned(), *amount)).collect()
}

/// Amounts asked for, one pod at the end.
fn each(asked: &Asked) -> [i128; 4] {
    [asked[0], asked[1], asked[2], 1000]
}

fn any_stocks() -> impl Strategy<Value = Stocks> {
    let stock = || prop::option::weighted(0.9, (0..200_000_i128, 0..150_000_i128));
    [stock(), stock(), stock(), stock()]
}

fn any_asked() -> impl Strategy<Value = Asked> {
    let amount = || prop_oneof![Just(0), 1..5_000_i128];
    [amount(), amount(), amount()]
}

proptest! {
    #[test]
    fn all_that_is_available_fits_and_one_more_does_not(stocks in any_stocks(), asked in any_asked()) {
        let available = i128::from(summary(&stocks).available(&demand(&asked)));
        let fits = |replicas: i128| {
            each(&asked).iter().zip(&stocks).all(|(each, stock)| {
                *each == 0 || stock.is_some_and(|(allocatable, taken)| replicas * each <= allocatable - taken)
            })
        };
        prop_assert!(available == 0 || fits(available));
        prop_assert!(!fits(available + 1));
    }

    #[test]
    fn what_is_placed_is_available_no_more(stocks in any_stocks(), asked in any_asked(), part in 0..=100_u32) {
        let before = summary(&stocks).available(&demand(&asked));
        let placed = before * part / 100;
        let mut after = stocks;
        for (stock, each) in after.iter_mut().zip(each(&asked)) {
            if let Some((_, taken)) = stock {
                *taken += i128::from(placed) * each;
            }
        }
        prop_assert_eq!(summary(&after).available(&demand(&asked)), before - placed);
        prop_assert_eq!(summary(&after).whole(&demand(&asked)), summary(&stocks).whole(&demand(&asked)));
    }

    #[test]
    fn an_empty_cluster_takes_as_many_or_more(stocks in any_stocks(), asked in any_asked()) {
        let (summary, demand) = (summary(&stocks), demand(&asked));
        prop_assert!(summary.available(&demand) <= summary.whole(&demand));
    }

    #[test]
    fn who_asks_for_more_fits_no_more_often(stocks in any_stocks(), asked in any_asked(), more in any_asked()) {
        let larger = [0, 1, 2].map(|at| asked[at] + more[at]);
        prop_assert!(summary(&stocks).available(&demand(&larger)) <= summary(&stocks).available(&demand(&asked)));
    }

    #[test]
    fn no_answer_is_smaller_than_the_smallest(mut wire in prop::collection::vec(prop_oneof![-2..50, Just(i32::MAX)], 0..6)) {
        let least = smallest(wire.iter().copied().map(Answer::of), 99);
        let known = wire.iter().filter(|answer| **answer >= 0);
        prop_assert_eq!(least, known.map(|answer| if *answer == i32::MAX { 99 } else { u32::try_from(*answer).unwrap() }).min());
        wire.reverse();
        prop_assert_eq!(smallest(wire.into_iter().map(Answer::of), 99), least);
    }

    #[test]
    fn no_text_breaks_the_reading(names in prop::collection::vec("[a-z]{1,3}", 0..4), text in "[0-9.eEkKMmGi+-]{0,24}") {
        let list: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
        if let Some(demand) = Demand::read(list.clone()) {
            let summary = Summary::read(list.clone(), list.clone(), list);
            prop_assert!(summary.available(&demand) <= summary.whole(&demand));
        }
    }
}

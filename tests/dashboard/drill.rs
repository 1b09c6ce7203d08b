//! The page of what would not run if clusters were lost.

use super::Stand;
use super::markup::Document;
use crate::status::drill::desk;

/// The texts of the elements with these names.
fn texts(page: &str, names: &[&str]) -> Vec<String> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Document::read(page).of(names).map(|element| words(&element.text)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_losses_says_what_would_run_nowhere_and_what_would_let_it_run() {
    let stand = Stand::of(desk("3").await).await;
    let page = stand.page("/drill").await;
    assert!(page.contains("It has not run yet."), "{page}");
    assert!(page.contains("href=\"/drill\" aria-current=\"page\""), "the navigation leads there: {page}");
    let answer = stand.get("/drill?run=now").await;
    assert_eq!((answer.code, answer.header("location")), (303, Some("/drill")));
    let page = stand.get("/drill").await.body;
    assert!(page.contains("Last run: <time"), "{page}");
    assert_eq!(texts(&page, &["h2"]), ["If cluster member1 is lost", "If zone eu-1 (member1, member2) is lost"]);
    let rows = texts(&page, &["tr"]);
    let losses = [
        "LostReplicasRun nowhereVerdict",
        "cluster member142some run nowhere",
        "cluster member200nothing runs there",
        "cluster member300nothing runs there",
        "zone eu-1 (member1, member2)44some run nowhere",
        "zone eu-2 (member3)00nothing runs there",
    ];
    assert_eq!(rows[..6], losses);
    assert_eq!(rows[7], "shop/web42room for 2 more pods (cpu 2) in a candidate");
    assert!(page.contains("<a href=\"/objects/shop/web\">"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drill_that_cannot_read_says_why() {
    let desk = crate::status::Desk::bare().await;
    let stand = Stand::of(desk).await;
    assert_eq!(stand.get("/drill?run=now").await.code, 303);
    let page = stand.get("/drill").await.body;
    assert!(page.contains("<p class=\"notice bad\">") && page.contains("federatedhpas"), "{page}");
}

//! Waits for what a story says.

use std::time::Duration;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// Waits so long until something holds; says what does not.
pub async fn within(seconds: u64, what: &str, holds: &mut impl AsyncFnMut() -> bool) {
    assert!(in_time(seconds, holds).await, "not seen within {seconds} s: {what}");
}

/// Whether something holds within this time.
pub async fn in_time(seconds: u64, holds: &mut impl AsyncFnMut() -> bool) -> bool {
    let looks = async {
        while !holds().await {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(seconds), looks).await.is_ok()
}

// Follows changes: on each message of the server the page is fetched again, and its content is replaced where it differs.
// Without this script pages reload themselves.
"use strict";

(() => {
  const main = document.getElementById("main");
  const live = document.getElementById("live");

  for (const field of document.querySelectorAll("form.filter select")) {
    field.addEventListener("change", () => field.form.requestSubmit());
  }
  if (!document.body.hasAttribute("data-live")) return;

  const PACE = 1000;
  // Ages of what does not change.
  const AGES = 30000;
  let busy = false;
  let due = false;

  const say = (words, state) => {
    if (live.textContent !== words) live.textContent = words;
    live.className = state;
  };

  const attributes = (old, fresh) => {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  };

  // Makes `old` equal to `fresh`; keeps nodes, so that focus, selection and scrolling stay.
  const morph = (old, fresh) => {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || (old.id || "") !== (fresh.id || "")) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    // What the user has typed or chosen stays.
    if (old.nodeName === "FORM" || old.isEqualNode(fresh)) return;
    attributes(old, fresh);
    const olds = [...old.childNodes];
    const news = [...fresh.childNodes];
    news.forEach((node, at) => (at < olds.length ? morph(olds[at], node) : old.appendChild(node)));
    olds.slice(news.length).forEach((node) => node.remove());
  };

  const refresh = async () => {
    if (busy) {
      due = true;
      return;
    }
    [busy, due] = [true, false];
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("main");
      if (fresh) {
        morph(main, fresh);
        say("live", "on");
      } else {
        say("no longer admitted: open the printed address again", "off");
      }
    } catch {
      say("disconnected", "off");
    }
    setTimeout(() => {
      busy = false;
      if (due) refresh();
    }, PACE);
  };

  const source = new EventSource("/events");
  source.addEventListener("change", refresh);
  source.addEventListener("open", () => say("live", "on"));
  source.addEventListener("error", () => {
    say("disconnected", "off");
    // A refused stream is not tried again by the browser.
    if (source.readyState === EventSource.CLOSED) setInterval(refresh, 5000);
  });
  setInterval(refresh, AGES);
})();

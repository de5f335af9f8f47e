// The expected error and what would be left, while one chooses: the form's own answer to "Show the error", put in place.
"use strict";
const form = document.querySelector("form.ask");
let turn = 0, timer = 0;

async function show() {
  const own = ++turn, given = new URLSearchParams(new FormData(form));
  given.set("action", "plan");
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: given });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (own !== turn) return;
    for (const place of ["before", "python"]) {
      const fresh = page.getElementById(place);
      if (fresh) document.getElementById(place).replaceChildren(...fresh.childNodes);
    }
  } catch {
    // The button still asks.
  }
}

if (form) {
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, 300);
  });
}

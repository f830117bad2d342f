// Shows how far an upload is. Without this script the form works as any form does.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-upload]")) return;
  event.preventDefault();
  const bar = form.querySelector("progress");
  const words = form.querySelector("[data-words]");
  const button = form.querySelector("button");
  const request = new XMLHttpRequest();
  bar.hidden = false;
  button.disabled = true;
  words.textContent = "Uploading…";
  request.upload.addEventListener("progress", (sent) => {
    if (!sent.lengthComputable) return;
    bar.max = sent.total;
    bar.value = sent.loaded;
    const share = Math.round((100 * sent.loaded) / sent.total);
    words.textContent = sent.loaded < sent.total ? `Uploaded ${share} %` : "Uploaded. The server is scoring the file…";
  });
  request.addEventListener("load", () => {
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const main = page.querySelector("main");
    if (request.status === 200 && request.responseURL !== form.action) {
      window.location.assign(request.responseURL);
      return;
    }
    if (!main) return failed();
    document.title = page.title;
    document.querySelector("main").replaceWith(main);
    const message = main.querySelector("[role=alert], [role=status]");
    if (message) message.focus();
  });
  const failed = () => {
    bar.hidden = true;
    button.disabled = false;
    words.textContent = "The connection broke. Send the file again: the same file is never counted twice.";
  };
  request.addEventListener("error", failed);
  request.open("POST", form.action);
  request.send(new FormData(form));
});

// Keeps a page as it would be if it were loaded now: on an event, or once a
// minute, it fetches the page again and puts in the parts that have changed.
// Without it the page works all the same.
'use strict';
(() => {
  const main = document.querySelector('main[data-events]');
  if (!main) return;
  const sign = document.getElementById('live');
  const known = new Map(); // what was last put in, by the part's id
  let source = null, release = null, clock = 0, last = 0, took = 0, busy = false, again = false;

  const parts = (root) => root.querySelectorAll('[data-part]');
  // Times go by without anything having changed.
  const content = (part) => part.innerHTML.replace(/(<time[^>]*>)[^<]*/g, '$1');
  parts(main).forEach((part) => known.set(part.id, content(part)));

  function say(text, lost) {
    if (sign.textContent !== text) sign.textContent = text;
    sign.classList.toggle('lost', !!lost);
  }

  // Who marks text is not disturbed.
  function occupied(part) {
    const selection = document.getSelection();
    return !selection.isCollapsed && selection.containsNode(part, true);
  }

  function times(part, fresh) {
    const to = fresh.querySelectorAll('time');
    part.querySelectorAll('time').forEach((t, i) => {
      if (to[i] && t.textContent !== to[i].textContent) t.textContent = to[i].textContent;
    });
  }

  function put(part, fresh) {
    const open = new Map([...part.querySelectorAll('details[id]')].map((d) => [d.id, d.open]));
    const scrolled = new Map([...part.querySelectorAll('pre, .log, textarea')].map((e, i) => [i, e.scrollTop]));
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const at = focused && [...part.querySelectorAll('a, button, summary, pre, textarea')].indexOf(focused);
    part.replaceChildren(...document.importNode(fresh, true).childNodes);
    part.querySelectorAll('details[id]').forEach((d) => { if (open.has(d.id)) d.open = open.get(d.id); });
    part.querySelectorAll('pre, .log, textarea').forEach((e, i) => { if (scrolled.get(i)) e.scrollTop = scrolled.get(i); });
    if (!focused) return;
    const same = focused.id ? document.getElementById(focused.id)
      : focused.tagName === 'SUMMARY' && focused.parentElement.id ? document.querySelector('#' + CSS.escape(focused.parentElement.id) + ' > summary')
        : part.querySelectorAll('a, button, summary, pre, textarea')[at];
    (same || main).focus({ preventScroll: true });
  }

  // The answer to a form stands at the form's address: what is relative in the
  // page that is fetched is so to another one.
  const self = new URL(main.dataset.self, location);
  function resolve(fresh) {
    if (self.pathname === location.pathname) return;
    for (const name of ['href', 'action']) {
      fresh.querySelectorAll('[' + name + ']').forEach((e) => e.setAttribute(name, new URL(e.getAttribute(name), self)));
    }
  }

  function merge(text) {
    const fresh = new DOMParser().parseFromString(text, 'text/html');
    resolve(fresh);
    const of = new Map([...parts(fresh)].map((p) => [p.id, p]));
    const here = [...parts(main)];
    if (here.length !== of.size || here.some((p) => !of.has(p.id))) {
      if (!document.activeElement.matches('input, select, textarea')) location.reload(); // it has other parts now
      return;
    }
    document.title = fresh.title;
    for (const part of here) {
      const to = of.get(part.id), now = content(to);
      if (now === known.get(part.id)) {
        times(part, to);
      } else if (!occupied(part)) {
        known.set(part.id, now);
        put(part, to);
      }
    }
  }

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    again = false;
    // At most once a second, and less often where the server takes long.
    await new Promise((go) => setTimeout(go, Math.max(0, last + Math.max(1000, 10 * took) - Date.now())));
    last = Date.now();
    try {
      const answer = await fetch(self, { headers: { Accept: 'text/html' }, cache: 'no-store' });
      if (answer.ok) { merge(await answer.text()); if (!source) say(''); }
      else if (answer.status < 500) say('this page is not there any more: load it again', true);
    } catch {
      say('no connection: what is here may be old', true);
    }
    took = Date.now() - last;
    busy = false;
    if (again) refresh();
  }

  // A browser has six connections to a server. A page that cannot be seen holds
  // none, and of those that can only the first three do; the others ask.
  function listen() {
    stop();
    if (document.hidden) return;
    clock = setInterval(refresh, 60000);
    const take = (slot) => navigator.locks.request('pawl ' + slot, { ifAvailable: true }, (lock) => {
      if (document.hidden || source) return null;
      if (lock) { stream(); return new Promise((free) => { release = free; }); }
      if (slot < 2) { take(slot + 1); return null; }
      clearInterval(clock);
      clock = setInterval(refresh, 5000);
      say('');
      return null;
    });
    if (navigator.locks) take(0); else stream();
    refresh();
  }

  function stream() {
    source = new EventSource(main.dataset.events);
    source.onopen = () => { say('live'); refresh(); };
    source.onerror = () => {
      say('no connection: what is here may be old', true);
      if (source && source.readyState === EventSource.CLOSED) { stop(); clock = setTimeout(listen, 5000); }
    };
    for (const name of ['checkpoint', 'changed']) source.addEventListener(name, refresh);
  }

  function stop() {
    if (source) source.close();
    if (release) release();
    clearInterval(clock); // a timeout too
    source = release = null;
  }

  document.addEventListener('visibilitychange', () => { if (document.hidden) stop(); else listen(); });
  window.addEventListener('pagehide', stop);
  window.addEventListener('pageshow', (e) => { if (e.persisted) listen(); });
  listen();
})();

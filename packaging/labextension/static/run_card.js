// Shows the card of an agent's run as the lab shows any HTML, sanitised by the lab, and keeps the
// answer in view in Xircuits' output panel, which scrolls to its end before HTML is drawn.
// Loaded as it is, without a build: the object below is what JupyterLab asks of an extension.
'use strict';
(() => {
  const NAME = 'xai-mcp-agent';
  const KIND = 'application/vnd.xai-mcp-agent.card+json'; // {id, state}; the card is its text/html
  const PANEL = '#xircuit-output-panel';
  const OUTPUT = '.jp-OutputArea-child';
  const LINES = 'application/vnd.jupyter.stdout';
  const BY_HAND = ['wheel', 'pointerdown', 'keydown', 'touchstart'];

  let held = null; // the finished card that is kept in view

  const scrolls = node => ['auto', 'scroll'].includes(getComputedStyle(node).overflowY);

  function scrollerOf(node) {
    const panel = node.closest(PANEL);
    if (!panel) return null; // in notebooks and elsewhere nothing is scrolled
    let at = node.parentElement;
    while (at !== panel && !scrolls(at)) at = at.parentElement;
    return at;
  }

  function endsWith(output) {
    // Lines may follow the card; an error, a question or another card is what to look at then.
    for (let next = output.nextElementSibling; next; next = next.nextElementSibling) {
      const kind = next.querySelector('[data-mime-type]')?.getAttribute('data-mime-type');
      if (kind && kind !== LINES && next.style.display !== 'none') return false;
    }
    return true;
  }

  class Hold {
    constructor(node, scroller) {
      this.node = node;
      this.scroller = scroller;
      this.keep = this.keep.bind(this);
      this.release = this.release.bind(this);
      this.changes = new MutationObserver(this.keep);
      this.changes.observe(scroller, { childList: true, subtree: true, characterData: true });
      this.sizes = new ResizeObserver(this.keep);
      this.sizes.observe(scroller);
      this.sizes.observe(node);
      scroller.addEventListener('scroll', this.keep);
      for (const kind of BY_HAND) {
        scroller.addEventListener(kind, this.release, { capture: true, passive: true });
      }
      this.keep();
    }

    keep() {
      const { node, scroller } = this;
      if (!node.isConnected) return this.release();
      if (!endsWith(node.closest(OUTPUT))) {
        this.release();
        scroller.scrollTop = scroller.scrollHeight;
        return;
      }
      const top = Math.min(this.wanted(), scroller.scrollHeight - scroller.clientHeight);
      if (Math.abs(scroller.scrollTop - top) > 1) scroller.scrollTop = top;
    }

    wanted() {
      // The whole card from its top; of one that is too long its end; of a long answer its start.
      const { node, scroller } = this;
      const zero = scroller.getBoundingClientRect().top - scroller.scrollTop;
      const card = node.getBoundingClientRect();
      const answer = (node.querySelector('.xai-answer') ?? node).getBoundingClientRect();
      const end = card.bottom - zero - scroller.clientHeight;
      return Math.max(0, Math.min(answer.top - zero, Math.max(card.top - zero, end)));
    }

    release() {
      this.changes.disconnect();
      this.sizes.disconnect();
      this.scroller.removeEventListener('scroll', this.keep);
      for (const kind of BY_HAND) {
        this.scroller.removeEventListener(kind, this.release, { capture: true });
      }
      if (held === this) held = null;
    }
  }

  function bringIntoView(node, state) {
    const scroller = scrollerOf(node);
    if (!scroller) return;
    if (state === 'done') {
      held?.release();
      held = new Hold(node, scroller);
    } else if (!held) {
      scroller.scrollTop = scroller.scrollHeight; // as the panel does, but when it is drawn
    }
  }

  function rendererOf(RenderedHTML) {
    const unfolded = new Map(); // which folds of a card are open, also when it is drawn anew below

    return class RunCard extends RenderedHTML {
      constructor(options) {
        super({ ...options, mimeType: 'text/html' });
      }

      async renderModel(model) {
        const { id, state } = model.data[KIND] ?? {};
        const folds = () => [...this.node.querySelectorAll('details')];
        if (this.node.firstChild) unfolded.set(id, folds().map(x => x.open));
        await super.renderModel(model);
        folds().forEach((x, at) => { x.open = Boolean(unfolded.get(id)?.[at]); });
        if (state !== 'running') unfolded.delete(state === 'done' ? id : undefined);
        this.state = state;
        if (this.isAttached) this.appear();
      }

      onAfterAttach(message) {
        super.onAfterAttach(message);
        this.appear();
      }

      appear() {
        const output = this.node.closest(OUTPUT);
        if (this.state === 'gone' && output) output.style.display = 'none';
        else if (this.state && this.node.firstChild) bringIntoView(this.node, this.state);
      }
    };
  }

  let shared;

  async function labModule(name) {
    const versions = Object.values(shared[name]);
    const chosen = versions.find(x => x.loaded) ?? versions[0];
    return (await chosen.get())();
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = {
    init: scope => { shared = scope; },
    get: async () => {
      const { RenderedHTML } = await labModule('@jupyterlab/rendermime');
      const Card = rendererOf(RenderedHTML);
      const rendererFactory = {
        safe: true, // it is sanitised like all HTML
        mimeTypes: [KIND],
        createRenderer: options => new Card(options),
      };
      const extension = { id: `${NAME}:run-card`, rendererFactory, rank: 0, dataType: 'json' };
      return () => ({ __esModule: true, default: extension });
    },
  };
})();

// @ts-check
// The content of the panel: the turns of one workflow, the questions of runs, and the text box.

import { questionsOf } from './questions.js';
import { asText, visible } from './turns.js';

const SIGNS = { running: '◌', done: '✓', failed: '✗', stopped: '■' };
const MOST_TITLE = 500; // characters of a tip
const AT_END = 40; // pixels from the end: within them the list follows new lines

/** @param {any} React @param {(html: string) => string} sanitize */
export function chatOf(React, sanitize) {
  const { createElement: h, Component, useEffect, useLayoutEffect, useRef, useState } = React;
  const Question = questionsOf(React);

  /** Replaces a part that cannot be drawn with the error, so that the rest of the panel stays. */
  class Guard extends Component {
    state = { error: null };

    static getDerivedStateFromError = error => ({ error });

    render() {
      const { error } = this.state;
      return error ? h('div', { className: 'xai-wrong' }, `Not shown: ${error.message}`) : this.props.children;
    }
  }

  const openLink = event => {
    const link = event.target.closest('a[href]');
    if (!link) return;
    event.preventDefault();
    window.open(link.href, '_blank', 'noopener,noreferrer');
  };

  function Markdown({ html, className }) {
    const page = { __html: sanitize(html) };
    return h('div', { className, dir: 'auto', onClick: openLink, dangerouslySetInnerHTML: page });
  }

  function Call({ call, prefix }) {
    const { tool, state, ms, inner, result, progress } = call;
    const [isOpen, setOpen] = useState(null); // null until a person folds or unfolds it
    const isUnfolded = isOpen ?? (inner.length > 0 && state === 'running');
    const name = tool.startsWith(prefix) ? tool.slice(prefix.length) : tool;
    const isReadable = call.arguments !== null;
    const args = isReadable ? visible(JSON.stringify(call.arguments)) : '(not readable)';
    const short = args === '{}' ? '' : args.replace(/^\{/, '(').replace(/\}$/, ')');
    const toggle = event => { event.preventDefault(); setOpen(!isUnfolded); };
    return h('details', { className: 'xai-call', open: isUnfolded, 'data-state': state },
      h('summary', { onClick: toggle, title: `${tool}${short}`.slice(0, MOST_TITLE) },
        h('span', { className: 'xai-sign', 'aria-label': state }, SIGNS[state]),
        h('code', null, visible(name)),
        h('span', { className: 'xai-short' }, progress || short),
        ms !== null && h('span', { className: 'xai-hint' }, ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)),
      isUnfolded && h('div', { className: 'xai-inside' },
        inner.map((agent, at) => h(Agent, { key: at, agent })),
        short && h('b', null, 'Arguments'),
        short && h('pre', { tabIndex: 0, 'aria-label': 'Arguments' }, isReadable ? asText(call.arguments) : args),
        state !== 'running' && h('b', null, 'Result'),
        state !== 'running' && h('pre', { tabIndex: 0, dir: 'auto', 'aria-label': 'Result' }, asText(result) || '(nothing)')));
  }

  /** The prefix that all tools share, such as `library_` with one server; it is not worth showing. */
  function prefixOf(lines) {
    const tools = lines.filter(x => x.kind === 'call' && !x.isDrawn).map(x => x.tool);
    const first = tools[0]?.match(/^[^_]+_(?=.)/)?.[0] ?? '';
    return first && tools.every(x => x.startsWith(first)) ? first : '';
  }

  const LINES = {
    said: ({ html }) => h(Markdown, { className: 'xai-said', html }),
    note: ({ text }) => h('div', { className: 'xai-hint xai-words' }, text),
    call: (call, prefix) => h(Call, { call, prefix }),
  };

  function Agent({ agent, isAsked = false }) {
    const { lines, live, html, cost, error, asked, isOver } = agent;
    const prefix = prefixOf(lines);
    return h('div', { className: 'xai-agent' },
      asked && !isAsked && h('div', { className: 'xai-hint xai-asked' }, visible(`${agent.agent} was asked: ${asked}`)),
      lines.map((line, at) => h(Guard, { key: at }, LINES[line.kind](line, prefix))),
      live && h(Markdown, { className: 'xai-answer', html: live }),
      html && h(Markdown, { className: 'xai-answer', html }),
      !isOver && !live && h('div', { className: 'xai-hint' }, 'working ...'),
      error && h('div', { className: 'xai-wrong xai-words', role: 'alert' }, error),
      cost && h('div', { className: 'xai-hint xai-cost' }, cost));
  }

  function Goals({ goals }) {
    return h('div', { className: 'xai-goals', role: 'group', 'aria-label': goals.title },
      h('b', null, `${goals.title}: ${goals.goals.filter(x => x.is_met).length} of ${goals.goals.length} goals met`),
      goals.goals.map(({ sentence, is_met: isMet, missing }, at) => h('div', { key: at, 'data-met': isMet },
        h('span', { 'aria-label': isMet ? 'met' : 'not met' }, isMet ? '☑ ' : '☐ '), sentence,
        missing && h('div', { className: 'xai-hint' }, missing))),
      goals.next && h('div', null, `Next: ${goals.next}`));
  }

  function Turn({ turn }) {
    const { question, path, isOwn, parts, printed, page, goals, state, error } = turn;
    const name = path.replace(/^.*\//, '').replace(/\.xircuits$/, '');
    const isReported = parts.some(x => x.error && error.includes(x.error)); // by an agent of the run
    const text = printed.join('\n').trim();
    const first = parts.find(x => x.kind === 'agent'); // it got the question
    return h('div', { className: 'xai-turn', 'data-state': state },
      question
        ? h('div', { className: 'xai-asks', dir: 'auto' }, question)
        : h('div', { className: 'xai-hint' }, isOwn ? `${name} as it is drawn` : `Run of ${name}.py`),
      parts.map((part, at) => h(Guard, { key: at },
        part.kind === 'agent' ? h(Agent, { agent: part, isAsked: question && part === first }) : h(Call, { call: part, prefix: ' ' }))),
      text && h('details', { className: 'xai-call', open: !first || undefined },
        h('summary', null, 'Printed'), h('pre', { tabIndex: 0, 'aria-label': 'Printed' }, text)),
      page && state === 'running' && h('a', { href: page.url, onClick: openLink }, page.title),
      goals && h(Goals, { goals }),
      state === 'running' && !parts.length && h('div', { className: 'xai-hint' }, 'working ...'),
      state === 'waiting' && h('div', { className: 'xai-hint' }, 'waits for the run before it'),
      state === 'stopped' && h('div', { className: 'xai-stopped' }, error),
      state === 'failed' && !isReported && h('div', { className: 'xai-wrong xai-words', role: 'alert' }, error),
      state === 'done' && !parts.length && !text && h('div', { className: 'xai-hint' }, 'It ran, and printed nothing.'));
  }

  function Empty({ name, hasAgent }) {
    if (!name) return h('p', null, 'Open a workflow to ask its agent: double-click one in the files at the left, such as examples/ex01_quickstart.xircuits.');
    if (!hasAgent) return h('p', null, `${name} has no agent to ask. ▶ Run runs it, and shows what it does here.`);
    return h('p', null, `Ask the agent of ${name}. Each question runs the whole workflow; nothing needs to be wired for it.`);
  }

  function Box({ name, hasAgent, isRunning, ask, stop, focus }) {
    const [text, setText] = useState('');
    const box = useRef(null);
    useEffect(() => {
      if (focus.isWanted && hasAgent) box.current.focus();
      focus.isWanted &&= !hasAgent; // the workflow may still be loading
    });
    const send = () => {
      if (!name) return;
      const question = hasAgent ? text.trim() : '';
      ask(question).then(isTaken => { if (isTaken) setText(now => (now.trim() === question ? '' : now)); });
    };
    const press = event => {
      if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
        event.preventDefault();
        if (text.trim()) send(); // Enter in an empty box must not run anything by accident
      }
    };
    const label = text.trim() && hasAgent ? 'Ask' : '▶ Run';
    const hint = hasAgent ? `Ask ${name}` : name ? 'No agent in this workflow' : 'No workflow is open';
    return h('div', { className: 'xai-box' },
      h('textarea', {
        ref: box, value: text, rows: 2, placeholder: hint, 'aria-label': hint, dir: 'auto',
        disabled: !hasAgent, onChange: event => setText(event.target.value), onKeyDown: press,
      }),
      isRunning
        ? h('button', { className: 'xai-button xai-stop', onClick: stop, title: 'Stop (Esc)' }, '■ Stop')
        : h('button', { className: 'xai-button xai-first', onClick: send, disabled: !name, title: 'Enter asks' }, label));
  }

  /** @param {{state: any, actions: any}} props */
  return function Chat({ state, actions }) {
    const { name, path, hasAgent, turns, questions, isReading, isRunning } = state;
    const list = useRef(null);
    const isAtEnd = useRef(true);
    const noteScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = list.current;
      isAtEnd.current = scrollHeight - clientHeight - scrollTop < AT_END;
    };
    useLayoutEffect(() => { isAtEnd.current = true; }, [path, turns.length]);
    useLayoutEffect(() => {
      const last = list.current.querySelector('.xai-turn:last-of-type');
      if (!isAtEnd.current) return;
      // Show the start of an answer that is longer than the panel; while it streams, its end.
      const isLong = last && !isRunning && last.offsetHeight > list.current.clientHeight;
      const answer = isLong && (last.querySelector(':scope > .xai-agent > .xai-answer') ?? last);
      list.current.scrollTop = answer ? answer.offsetTop : list.current.scrollHeight;
    });
    const press = event => { if (event.key === 'Escape' && isRunning) actions.stop(); };
    return h('div', { className: 'xai-chat', onKeyDown: press, 'aria-busy': isReading },
      h('div', { className: 'xai-head' },
        h('b', { title: path, role: 'heading', 'aria-level': 2 }, name || 'Chat'),
        h('button', { className: 'xai-plain', disabled: !turns.length || isRunning, onClick: actions.beginAnew }, 'New conversation')),
      h('div', { className: 'xai-list', ref: list, onScroll: noteScroll, role: 'log', 'aria-label': 'Conversation', tabIndex: 0 },
        !turns.length && h(Empty, { name, hasAgent }),
        turns.map(turn => h(Guard, { key: turn.id }, h(Turn, { turn }))),
        questions.map(({ question, answer }) => h(Guard, { key: question.id }, h(Question, { question, answer })))),
      h(Guard, null, h(Box, { key: path, name, hasAgent, isRunning, focus: actions.focus, ask: actions.ask, stop: actions.stop })));
  };
}

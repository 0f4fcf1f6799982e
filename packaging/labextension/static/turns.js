// @ts-check
// Turns the events of a run into what the chat shows. Nothing here touches the page.

/**
 * @typedef {Record<string, any>} Event
 * @typedef {{kind: 'call', tool: string, arguments: any, state: string, ms: number | null,
 *   result: string, progress: string, isDrawn: boolean, inner: Agent[]}} Call
 * @typedef {{kind: 'said', html: string} | {kind: 'note', text: string} | Call} Line
 * @typedef {{kind: 'agent', agent: string, model: string, asked: string, lines: Line[],
 *   live: string, html: string, cost: string, error: string, isOver: boolean}} Agent
 * @typedef {{id: string, path: string, question: string, isOwn: boolean, time: number,
 *   parts: (Agent | Call)[], printed: string[], page: Event | null, goals: Event | null,
 *   state: string, error: string}} Turn
 */

/** Fields that all events share. */
const FRAME = new Set(['run', 'event', 'time', 'node', 'run_id', 'html', 'seconds']);

/** @param {Event[]} events @returns {Turn} */
export function turnOf(events) {
  const turn = newTurn(events[0]);
  const agents = new Map();
  const nodes = new Map();
  /** @type {Record<string, (event: Event, agent: Agent & {calls: Map<string, Call>}) => void>} */
  const take = {
    RunStarted: event => {
      const agent = newAgent(event);
      const outer = openCall([...agents.values()]);
      (outer ? outer.inner : turn.parts).push(agent);
      agents.set(event.run_id, agent);
    },
    Text: (event, agent) => { agent.live = event.html; },
    ModelAskedAgain: (event, agent) => {
      agent.live = '';
      agent.lines.push({ kind: 'note', text: event.reason });
    },
    ThoughtFinished: (event, agent) => {
      agent.live = '';
      if (event.call_count && event.html) agent.lines.push({ kind: 'said', html: event.html });
    },
    ToolStarted: (event, agent) => {
      const call = newCall(event.tool, event.arguments, event.source === 'canvas');
      agent.calls.set(event.call_id, call);
      agent.lines.push(call);
    },
    ToolProgressed: (event, agent) => {
      const call = agent.calls.get(event.call_id);
      const count = event.total ? `${event.done} of ${event.total}` : `${event.done}`;
      if (call) call.progress = event.message || count;
    },
    ToolFinished: (event, agent) => {
      if (!agent.calls.has(event.call_id)) take.ToolStarted(event, agent);
      const notes = (event.notes ?? []).map(note => `\nnote: ${note}`).join('');
      finish(agent.calls.get(event.call_id), event, event.is_error, event.text + notes);
    },
    RunFinished: (event, agent) => {
      Object.assign(agent, { html: event.html, live: '', cost: costOf(agent, event), isOver: true });
    },
    RunFailed: (event, agent) => { Object.assign(agent, { error: event.error, isOver: true }); },
    NodeStarted: event => {
      const call = newCall(event.node, ownFields(event), true);
      nodes.set(event.node, call);
      turn.parts.push(call);
    },
    NodeFinished: event => {
      const { text, ...others } = ownFields(event);
      for (const name of Object.keys(nodes.get(event.node).arguments)) delete others[name];
      finish(nodes.get(event.node), event, false, text ?? asText(others));
    },
    NodeFailed: event => { finish(nodes.get(event.node), event, true, event.error); },
    Page: event => { turn.page = event; },
    Printed: event => { turn.printed.push(event.text); },
    Goals: event => { turn.goals = event; },
    Ended: event => { Object.assign(turn, { state: event.state, error: event.error }); },
  };
  for (const event of events) {
    if (event.event === 'ToolStarted' && !agents.has(event.run_id)) {
      const node = newAgent({ agent: event.agent }); // a node calls tools without a model
      turn.parts.push(node);
      agents.set(event.run_id, node);
    }
    take[event.event]?.(event, agents.get(event.run_id));
  }
  if (turn.state !== 'running') {
    for (const agent of agents.values()) closeCalls(agent.calls.values(), agent, turn);
    closeCalls(nodes.values(), {}, turn);
  }
  return turn;
}

/** Format a value for reading: JSON over several lines, also if it is in a string. @param {any} value */
export function asText(value) {
  if (typeof value !== 'string') return visible(JSON.stringify(value ?? null, null, 1));
  if (!/^\s*[[{]/.test(value)) return visible(value);
  try {
    return visible(JSON.stringify(JSON.parse(value), null, 1));
  } catch {
    return visible(value); // not JSON, or JSON that was cut
  }
}

/** Replace characters that hide or reverse parts of a text with question marks. */
export const visible = text => text.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '?');

/** @param {Event} start @returns {Turn} */
function newTurn(start) {
  const { run, path = '', question = '', by, time = 0 } = start ?? {};
  return {
    id: run, path, question, isOwn: by === 'panel', time,
    parts: [], printed: [], page: null, goals: null, state: 'running', error: '',
  };
}

/** @param {Event} event */
function newAgent(event) {
  const { agent, model = '', asked = '', left_out: omissions = [] } = event;
  const lines = omissions.map(text => ({ kind: 'note', text: `left out: ${text}` }));
  return {
    kind: 'agent', agent, model, asked, lines, live: '', html: '', cost: '', error: '',
    isOver: !model, calls: new Map(),
  };
}

/** @returns {Call} */
function newCall(tool, args, isDrawn) {
  return {
    kind: 'call', tool, arguments: args, state: 'running', ms: null, result: '', progress: '',
    isDrawn, inner: [],
  };
}

/** The running tool on the canvas to which a new agent belongs. @returns {Call | undefined} */
function openCall(agents) {
  const calls = agents.flatMap(x => [...x.calls.values()]);
  const open = calls.filter(x => x.isDrawn && x.state === 'running');
  return open.find(x => !x.inner.length) ?? open.at(-1);
}

function finish(call, event, isError, result) {
  const ms = Math.round(event.seconds * 1000);
  Object.assign(call, { state: isError ? 'failed' : 'done', ms, result, progress: '' });
}

function closeCalls(calls, agent, turn) {
  agent.isOver = true;
  const isStopped = turn.state === 'stopped';
  for (const call of calls) {
    if (call.state === 'running' || (isStopped && call.result === turn.error)) {
      call.state = isStopped ? 'stopped' : 'failed';
    }
  }
}

function ownFields(event) {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !FRAME.has(name)));
}

function costOf(agent, { usage, seconds, stopped }) {
  const tokens = usage.input_tokens + usage.output_tokens;
  const ending = stopped === 'answered' ? '' : stopped.replaceAll('_', ' ');
  const parts = [agent.model, ending, tokens ? `${tokens} tokens` : '', `${seconds.toFixed(1)} s`];
  return parts.filter(Boolean).join(' · ');
}

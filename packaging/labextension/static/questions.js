// @ts-check
// Questions of a run to a person. All their texts are shown as plain text. No button takes the focus:
// a person who types the next question and presses Enter must not approve anything.

/** @param {any} React */
export function questionsOf(React) {
  const { createElement: h, useState, useEffect, useRef } = React;
  const inputs = { email: 'email', uri: 'url', date: 'date' };

  function Field({ field, id }) {
    const { name, kind, label, help, wanted, choices, is_needed: isNeeded, values, wrong } = field;
    const hint = `${id}-hint`;
    const common = { name, id, 'aria-describedby': hint, 'aria-invalid': Boolean(wrong) };
    const box = (value, text, key) => h('label', { key, className: 'xai-choice' },
      h('input', { type: 'checkbox', name, value, defaultChecked: values.includes(value) }), text);
    const control = {
      boolean: () => box('yes', 'yes', 'yes'),
      many: () => choices.map(([value, text]) => box(value, text, value)),
      one: () => h('select', { ...common, defaultValue: values[0] ?? '' },
        h('option', { value: '' }),
        choices.map(([value, text]) => h('option', { key: value, value }, text))),
    }[kind] ?? (() => h('input', {
      ...common, type: inputs[field.format] ?? 'text', defaultValue: values[0] ?? '',
    }));
    const grouped = ['boolean', 'many'].includes(kind);
    return h(grouped ? 'fieldset' : 'div', { className: 'xai-field' },
      h(grouped ? 'legend' : 'label', grouped ? {} : { htmlFor: id },
        isNeeded ? label : `${label} (optional)`),
      control(),
      h('div', { className: 'xai-hint', id: hint }, [help, wanted].filter(Boolean).join(' · ')),
      wrong && h('div', { className: 'xai-wrong', role: 'alert' }, wrong));
  }

  /** One question with its details. `answer` gets the fields of the form. */
  return function Question({ question, answer }) {
    const { id, title, message, url, fields = [], arguments: args = [], said = [] } = question;
    const part = useRef(null);
    const [isSent, setSent] = useState(false);
    const hadFocus = useRef(false); // when the form was sent
    useEffect(() => {
      setSent(false);
      part.current.scrollIntoView({ block: 'nearest' });
      if (hadFocus.current) part.current.querySelector('[aria-invalid=true]')?.focus();
    }, [question]);

    function press(action) {
      const form = { action: [action] };
      for (const [name, value] of new FormData(part.current)) (form[name] ??= []).push(value);
      if (action === 'accept' && url) window.open(url, '_blank', 'noopener,noreferrer');
      hadFocus.current = part.current.contains(document.activeElement);
      setSent(true);
      answer(form);
    }

    return h('form', {
      ref: part, className: 'xai-form', role: 'group', 'aria-label': title,
      onSubmit: event => { event.preventDefault(); if (fields.length) press('accept'); },
    },
      h('b', null, title),
      message && h('div', { className: 'xai-words xai-facts', tabIndex: 0 }, message),
      url && h('div', { className: 'xai-words xai-hint' }, url),
      args.map(([name, text]) => h('div', { key: name, className: 'xai-argument' },
        h('b', null, name), h('pre', null, text))),
      said.length > 0 && h('details', { open: true },
        h('summary', null, `What ${question.server} says of it`),
        said.map((text, at) => h('div', { key: at, className: 'xai-words xai-hint' }, text))),
      fields.map(field => h(Field, { key: field.name, field, id: `xai-${id}-${field.name}` })),
      h('div', { className: 'xai-buttons' }, question.buttons.map(([action, label], at) => h('button', {
        key: action, type: 'button', disabled: isSent, onClick: () => press(action),
        className: at ? 'xai-button' : 'xai-button xai-first',
      }, label))));
  };
}

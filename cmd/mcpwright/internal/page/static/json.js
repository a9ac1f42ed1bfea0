// JSON as it was sent: numbers, escapes and repeated members stay as they are.

import { h, button } from './dom.js'

// parse returns the tree of a JSON text. A node has a type, and text (of a scalar), members or items.
export function parse(text) {
	let at = 0
	const fail = (problem) => {
		const before = text.slice(0, at)
		const line = before.split('\n').length
		throw new SyntaxError(`line ${line}, column ${at - before.lastIndexOf('\n')}: ${problem}`)
	}
	const skip = () => {
		while (at < text.length && ' \t\n\r'.includes(text[at])) at++
	}
	const token = (pattern, problem) => {
		pattern.lastIndex = at
		const match = pattern.exec(text)
		if (!match) fail(problem)
		at = pattern.lastIndex
		return match[0]
	}
	const string = () => {
		const raw = token(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y, 'a string is not valid')
		return { type: 'string', text: raw, value: JSON.parse(raw) }
	}
	const list = (end, entry) => {
		at++
		const all = []
		skip()
		if (text[at] === end) {
			at++
			return all
		}
		for (;;) {
			all.push(entry())
			skip()
			if (text[at] === end) {
				at++
				return all
			}
			if (text[at] !== ',') fail(`"," or "${end}" is missing`)
			at++
		}
	}
	const value = (depth) => {
		if (depth > 1000) fail('the values are nested too deeply')
		skip()
		switch (text[at]) {
			case '{':
				return {
					type: 'object', members: list('}', () => {
						skip()
						if (text[at] !== '"') fail('the name of a member is missing')
						const name = string()
						skip()
						if (text[at] !== ':') fail('":" is missing')
						at++
						return { name: name.value, node: value(depth + 1) }
					}),
				}
			case '[':
				return { type: 'array', items: list(']', () => value(depth + 1)) }
			case '"':
				return string()
			case undefined:
				return fail('a value is missing')
		}
		const raw = token(/true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y, 'a value is not valid')
		const type = raw === 'null' ? 'null' : raw === 'true' || raw === 'false' ? 'boolean' : 'number'
		return { type, text: raw }
	}
	const node = value(0)
	skip()
	if (at < text.length) fail('there is text after the value')
	return node
}

// get returns the node of a member, or undefined. The last one counts if there are several.
export function get(node, name) {
	return node?.members?.findLast((m) => m.name === name)?.node
}

// format returns the JSON text of a node, indented.
export function format(node, indent = '') {
	const deeper = indent + '  '
	if (node.type === 'object') {
		if (!node.members.length) return '{}'
		return `{\n${node.members.map((m) => `${deeper}${JSON.stringify(m.name)}: ${format(m.node, deeper)}`).join(',\n')}\n${indent}}`
	}
	if (node.type === 'array') {
		if (!node.items.length) return '[]'
		return `[\n${node.items.map((n) => deeper + format(n, deeper)).join(',\n')}\n${indent}]`
	}
	return node.text
}

// pretty formats a JSON text, or returns it unchanged if it is invalid.
export function pretty(text) {
	try {
		return format(parse(text))
	} catch {
		return text
	}
}

const longText = 600
const manyEntries = 200

// tree shows a node. Violations have a pointer and a problem; each is shown at its value, or at the
// nearest one that exists.
export function tree(node, violations = []) {
	const marks = new Map()
	for (const v of violations) {
		const pointer = nearest(node, v.pointer)
		marks.set(pointer, [...(marks.get(pointer) ?? []), v])
	}
	return h('div', { class: 'json', tabindex: '0', role: 'group', 'aria-label': 'JSON' }, row(node, undefined, '', 0, marks))
}

function escapePointer(name) {
	return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function nearest(node, pointer) {
	let found = ''
	for (const part of pointer.split('/').slice(1)) {
		const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
		node = node.members ? get(node, name) : node.items?.[Number(name)]
		if (!node) break
		found += `/${part}`
	}
	return found
}

function row(node, name, pointer, depth, marks) {
	const label = name === undefined ? null : [h('span', { class: 'name' }, typeof name === 'number' ? String(name) : JSON.stringify(name)), ': ']
	const found = marks.get(pointer)
	const problems = found?.map((v) => h('div', { class: 'problem' }, v.pointer === pointer ? v.problem : `${v.pointer}: ${v.problem}`))
	const properties = { class: found ? 'row violation' : 'row', 'data-pointer': pointer }
	const children = node.members ?? node.items
	if (!children) {
		return h('div', properties, label, scalar(node), problems)
	}
	const [open, close] = node.members ? ['{', '}'] : ['[', ']']
	if (!children.length) return h('div', properties, label, open + close, problems)
	const entries = node.members
		? node.members.map((m) => [m.node, m.name, `${pointer}/${escapePointer(m.name)}`])
		: node.items.map((n, i) => [n, i, `${pointer}/${i}`])
	const inner = h('div', { class: 'inner' })
	const size = h('span', { class: 'muted' }, ` ${children.length} ${node.members ? 'members' : 'items'} ${close}`)
	let filled = false
	const marked = [...marks.keys()].some((p) => p === pointer || p.startsWith(`${pointer}/`))
	const toggle = button('', () => show(inner.hidden), { class: 'toggle', 'aria-label': `Members of ${name ?? 'the message'}` })
	const show = (visible) => {
		if (visible && !filled) {
			filled = true
			fill(inner, entries, depth, marks)
		}
		inner.hidden = !visible
		size.hidden = visible
		end.hidden = !visible
		toggle.setAttribute('aria-expanded', String(visible))
	}
	const end = h('div', null, close)
	const element = h('div', properties, toggle, label, open, size, problems, inner, end)
	show(marked || (depth < 6 && children.length <= 60))
	return element
}

function fill(inner, entries, depth, marks, from = 0) {
	for (const [node, name, pointer] of entries.slice(from, from + manyEntries)) {
		inner.append(row(node, name, pointer, depth + 1, marks))
	}
	const rest = entries.length - from - manyEntries
	if (rest > 0) {
		const more = button(`Show ${Math.min(rest, manyEntries)} of ${rest} more`, () => {
			more.remove()
			fill(inner, entries, depth, marks, from + manyEntries)
		}, { class: 'link' })
		inner.append(more)
	}
}

function scalar(node) {
	const element = h('span', { class: node.type })
	if (node.text.length <= longText) {
		element.textContent = node.text
		return element
	}
	element.textContent = node.text.slice(0, longText) + '…'
	return [element, ' ', button(`Show all ${node.text.length} characters`, (event) => {
		element.textContent = node.text
		event.target.remove()
	}, { class: 'link' })]
}

// viewer shows a JSON text, with a button that copies it. Other text is shown as it is.
export function viewer(text, violations = []) {
	let content
	let copied = text
	try {
		const node = parse(text)
		content = tree(node, violations)
		copied = format(node)
	} catch {
		content = [
			violations.map((v) => h('div', { class: 'problem' }, v.pointer ? `${v.pointer}: ${v.problem}` : v.problem)),
			h('pre', { class: 'text', tabindex: '0' }, text),
		]
	}
	const copy = button('Copy', async () => {
		await navigator.clipboard.writeText(copied)
		copy.textContent = 'Copied'
		setTimeout(() => { copy.textContent = 'Copy' }, 1500)
	}, { class: 'copy' })
	return h('div', { class: 'viewer' }, copy, content)
}

// The messages as a sequence diagram. Messages of one action are a group, so that the same action on
// both connections is in one row.

import { h, button, replace, later, milliseconds, bytes, arrows } from './dom.js'
import { viewer } from './json.js'
import * as api from './api.js'

const maxRows = 1500
const tolerance = 3 // milliseconds between the clock of an action and of its messages

// wireView shows messages in an element. titleOf(action) returns the title of an action.
export function wireView(element, titleOf) {
	const groups = new Map() // by key
	const groupOfEvent = [new Map(), new Map()] // by number of the event
	const actions = [[], []] // actions of a side, in order
	const idle = [{ n: 0, open: null }, { n: 0, open: null }]
	const rows = []
	let selected = null
	let both = false
	let violations = 0
	let removed = 0

	const filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the messages' })
	const onlyViolations = button('', () => {
		onlyViolations.setAttribute('aria-pressed', String(onlyViolations.getAttribute('aria-pressed') !== 'true'))
		filterAll()
	}, { class: 'violations', 'aria-pressed': 'false', hidden: true })
	const clear = button('Clear', () => {
		for (const row of rows.splice(0)) row.element.remove()
		for (const group of groups.values()) group.element.remove()
		removed = 0
		groups.clear()
		idle.forEach((i) => { i.open = null })
		note.textContent = ''
		show(null)
	}, { class: 'quiet' })
	const note = h('p', { class: 'hint center' })
	const heads = h('div', { class: 'heads' })
	const list = h('div', { class: 'groups' })
	const scroll = h('div', { class: 'scroll', tabindex: '-1' }, heads, note, list)
	const details = h('div', { class: 'details', role: 'region', 'aria-label': 'Message', hidden: true })
	replace(element, h('div', { class: 'bar' }, h('h2', null, 'Messages'), onlyViolations, filter, clear), scroll, details)
	filter.addEventListener('input', () => filterAll())
	arrows(list, 'button.message:not([hidden])')
	let pinned = true
	scroll.addEventListener('scroll', () => { pinned = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40 })
	const follow = later(() => { if (pinned) scroll.scrollTop = scroll.scrollHeight })

	// keyOf returns the key of the group of an event.
	function keyOf(side, event) {
		const before = event.respondsTo && groupOfEvent[side].get(event.respondsTo)
		if (before) return before
		const time = Date.parse(event.time)
		const action = actions[side].findLast((a) => a.begun <= time + tolerance && (!a.ended || time <= a.ended + tolerance))
		if (action) {
			idle[side].open = null
			return `action ${action.group}`
		}
		if (!idle[side].open) idle[side].open = idle[side].n++ === 0 ? 'connect' : `idle ${side} ${idle[side].n}`
		return idle[side].open
	}

	function groupFor(key) {
		let group = groups.get(key)
		if (group) return group
		const action = actions.flat().find((a) => `action ${a.group}` === key)
		const title = action ? titleOf(action.event) : key === 'connect' ? 'Connect' : 'Other messages'
		const columns = [h('div', { class: 'column' }), h('div', { class: 'column' })]
		group = { key, columns, times: h('span', { class: 'muted' }), first: [0, 0] }
		group.element = h('section', { class: 'group' }, h('h3', null, h('span', null, title), group.times), h('div', { class: 'pair' }, columns))
		groups.set(key, group)
		list.append(group.element)
		return group
	}

	function matches(row) {
		if (onlyViolations.getAttribute('aria-pressed') === 'true' && !row.event.violations) return false
		const text = filter.value.trim().toLowerCase()
		return !text || row.text.includes(text)
	}

	function filterAll() {
		for (const row of rows) row.element.hidden = !matches(row)
		for (const group of groups.values()) group.element.hidden = !group.element.querySelector('.message:not([hidden])')
	}

	function add(event, seq) {
		const side = event.side
		const key = keyOf(side, event)
		groupOfEvent[side].set(event.n, key)
		const group = groupFor(key)
		const time = Date.parse(event.time)
		group.first[side] ||= time
		const row = { event, seq, text: `${event.method ?? ''} ${event.note ?? ''} ${event.kind}`.toLowerCase() }
		row.element = messageRow(event, time - group.first[side], () => show(row))
		row.element.hidden = !matches(row)
		group.columns[side].append(row.element)
		group.element.hidden = !group.element.querySelector('.message:not([hidden])')
		rows.push(row)
		if (event.violations) {
			violations += event.violations.length
			onlyViolations.hidden = false
			onlyViolations.textContent = violations === 1 ? '1 violation' : `${violations} violations`
		}
		trim()
		follow()
	}

	function trim() {
		while (rows.length > maxRows) {
			const old = rows.shift()
			const group = old.element.closest('.group')
			old.element.remove()
			if (group && !group.querySelector('.message')) {
				group.remove()
				for (const [key, g] of groups) if (g.element === group) groups.delete(key)
			}
			note.textContent = `${++removed} earlier messages are not shown.`
		}
		for (const map of groupOfEvent) {
			for (const n of map.keys()) {
				if (map.size <= 2 * maxRows) break
				map.delete(n)
			}
		}
	}

	async function show(row) {
		selected?.element.setAttribute('aria-pressed', 'false')
		selected = row
		details.hidden = !row
		if (!row) return
		row.element.setAttribute('aria-pressed', 'true')
		const event = row.event
		const facts = [
			new Date(event.time).toLocaleTimeString(undefined, { hour12: false }) + '.' + event.time.slice(20, 23),
			event.revision, bytes(event.size), event.latencyMs !== undefined ? milliseconds(event.latencyMs) : null,
			event.http ? [event.http.method, event.http.path, event.http.status, event.http.type].filter(Boolean).join(' ') : null,
			event.masked ? 'secrets are replaced' : null, event.clipped ? 'shortened' : null,
		].filter(Boolean)
		const body = h('div', { class: 'details-body' })
		const close = button('✕', () => {
			const element = row.element
			show(null)
			element.focus()
		}, { class: 'quiet', 'aria-label': 'Close the message' })
		replace(details,
			h('div', { class: 'bar' }, h('h3', null, event.from === 'client' ? 'Client → server: ' : 'Server → client: ', event.method ?? event.kind), close),
			h('p', { class: 'facts' }, facts.map((f) => h('span', null, f))),
			event.violations ? h('ul', { class: 'violation-list' }, event.violations.map((v) => h('li', null, h('button', { type: 'button', class: 'link', onclick: () => jump(body, v.pointer) }, h('code', null, v.pointer || '(message)')), ' ', v.problem))) : null,
			body)
		row.element.scrollIntoView({ block: 'nearest' })
		try {
			const text = await api.message(row.seq)
			if (selected !== row) return
			replace(body, text ? viewer(text, event.violations) : h('p', { class: 'hint' }, event.text ?? 'There is no message: HTTP has only a header.'))
			row.element.scrollIntoView({ block: 'nearest' }) // the message has made the list shorter
		} catch (error) {
			replace(body, h('p', { class: 'problem' }, error.message))
		}
	}

	function jump(body, pointer) {
		for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
			const target = [...body.querySelectorAll('[data-pointer]')].find((e) => e.dataset.pointer === at)
			if (target || !at) {
				target?.scrollIntoView({ block: 'center' })
				return
			}
		}
	}
	details.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') details.querySelector('[aria-label="Close the message"]').click()
	})

	return {
		add,
		// act is called with each event of an action.
		act(event) {
			const list = actions[event.side]
			let entry = list.findLast((a) => a.event.id === event.id)
			if (!entry) {
				entry = { group: event.group, begun: Date.parse(event.begun) }
				list.push(entry)
				if (list.length > 500) list.shift()
			}
			entry.event = event
			entry.ended = event.ended && Date.parse(event.ended)
			const group = groups.get(`action ${event.group}`)
			if (!group) return
			const spans = actions.flatMap((l) => l.filter((a) => a.group === event.group && a.ended)).map((a) => milliseconds(a.ended - a.begun))
			group.times.textContent = spans.join(' · ')
		},
		// columns sets the titles of the columns, one or two.
		columns(titles) {
			both = titles.length > 1
			element.classList.toggle('both', both)
			replace(heads, titles.map((title) => h('div', { class: 'head' }, h('span', { class: 'lane-name' }, 'client'), h('span', { class: 'revision' }, title), h('span', { class: 'lane-name' }, 'server'))))
		},
		gap() {
			note.textContent = 'Some messages are not shown: the page was too slow, or was opened later.'
		},
	}
}

function messageRow(event, offset, onclick) {
	const right = event.from === 'client'
	const kind = event.kind
	const label = kind === 'http' ? httpLabel(event) : event.method ?? event.text ?? kind
	const note = event.note ? h('span', { class: 'note' }, event.note) : null
	const spoken = `${right ? 'client to server' : 'server to client'}, ${kind}, ${label}${event.violations ? `, ${event.violations.length} violations` : ''}`
	return h('button', { type: 'button', class: `message ${right ? 'right' : 'left'} kind-${kind}${event.violations ? ' invalid' : ''}`, 'aria-pressed': 'false', 'aria-label': spoken, onclick },
		h('span', { class: 'offset' }, offset ? `+${milliseconds(offset)}` : ''),
		h('span', { class: 'line' },
			h('span', { class: 'label' }, kind === 'response' || kind === 'error' ? h('span', { class: 'kind' }, kind === 'error' ? 'error' : 'result') : null, h('span', { class: 'method' }, label), note),
			h('span', { class: 'arrow' })),
		h('span', { class: 'after' },
			event.violations ? h('span', { class: 'badge' }, `${event.violations.length} ⚠`) : null,
			event.latencyMs !== undefined ? h('span', { class: 'latency' }, milliseconds(event.latencyMs)) : null))
}

function httpLabel(event) {
	const details = event.http ?? {}
	if (event.text) return event.text
	if (event.from === 'client') return `${details.method} ${details.path}`
	return `HTTP ${details.status}${details.type ? ` ${details.type}` : ''}`
}

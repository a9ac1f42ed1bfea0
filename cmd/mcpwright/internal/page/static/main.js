// The page: its state, and the parts that show it.

import { h, button, replace, remove, later, milliseconds, arrows } from './dom.js'
import { events } from './api.js'
import * as api from './api.js'
import { wireView } from './wire.js'
import { questionView } from './questions.js'
import { toolView, resourceView, templateView, promptView, tasksView, logView, serverView } from './views.js'

const at = (id) => document.getElementById(id)

// state is the state of the program, as its events describe it.
const state = {
	page: { name: '', command: false },
	sides: [null, null], // the last event of each connection
	logins: ['', ''], // the URL of the page on which the person logs in, for each connection
	offers: [{}, {}], // by kind
	actions: new Map(),
	progress: new Map(),
	tasks: new Map(),
	watches: new Map(),
	logs: [],
	roots: [],
	compare: false,
	unreachable: '',
}

const maxLogs = 2000
const maxActions = 100

// app is what the views use.
const app = {
	state,
	// request sends a request on the connections in use, and returns the numbers of its actions. The
	// params are JSON text.
	async request(method, params = '{}', sides = activeSides(), view = false) {
		const { ids } = await api.post('request', `{"sides":${JSON.stringify(sides)},"method":${JSON.stringify(method)},"view":${view},"params":${params}}`)
		return ids
	},
	// result sends a request that is not shown as an action, and returns its result.
	async result(method, params, sides = [firstConnected()], view = false) {
		const [id] = await app.request(method, params, sides, view)
		return new Promise((resolve, reject) => {
			waiting.set(id, { resolve, reject })
			settle(state.actions.get(id)) // the result may have arrived first
		})
	},
	// tools returns the tools of a connection.
	tools: (side) => state.offers[side].tools?.list ?? [],
	open,
	activeSides,
	firstConnected,
	listen(f) {
		listeners.add(f)
		return () => { listeners.delete(f) }
	},
	fail(error) {
		notice(error.message)
	},
}

const listeners = new Set() // called with the name of each event, after the state has changed
const waiting = new Map() // by the number of an action

// settle passes the result of an action to the function that waits for it.
function settle(action) {
	const promise = action && action.state !== 'running' && waiting.get(action.id)
	if (!promise) return
	waiting.delete(action.id)
	if (action.result) promise.resolve(JSON.parse(action.result))
	else promise.reject(Object.assign(new Error(action.error?.message ?? action.state), { code: action.error?.code, data: action.error?.data }))
}

function connected(side) {
	return state.sides[side]?.state === 'connected'
}

function firstConnected() {
	return connected(0) || !connected(1) ? 0 : 1
}

// activeSides returns the connections that requests go to.
function activeSides() {
	return state.compare && state.sides[1] ? [0, 1] : [0]
}

const wire = wireView(at('wire'), (action) => {
	const params = action.params ?? {}
	return [action.method, params.name ?? params.uri ?? ''].filter(Boolean).join(' ')
})
const questions = questionView(at('question'), (side) => {
	const s = state.sides[side]
	return [s?.server?.name ?? state.page.name, state.compare && s?.revision ? `(${s.revision})` : ''].filter(Boolean).join(' ')
})

const handlers = {
	page(event) { state.page = event },
	state(event) { state.sides[event.side] = event },
	login(event) { state.logins[event.side] = event.url },
	offer(event) { state.offers[event.side][event.kind] = event },
	action(event) {
		state.actions.set(event.id, event)
		if (event.state !== 'running') {
			state.progress.delete(event.id)
			settle(event)
			const old = state.actions.size > maxActions && [...state.actions.values()].find((a) => a.state !== 'running')
			if (old) state.actions.delete(old.id)
		}
		wire.act(event)
	},
	progress(event) { state.progress.set(event.id, event) },
	question(event) { questions.update(event) },
	task(event) { state.tasks.set(`${event.side} ${event.id}`, event) },
	watch(event) { state.watches.set(`${event.side} ${event.uri}`, event) },
	roots(event) { state.roots = event.roots },
	log(event) {
		state.logs.push(event)
		if (state.logs.length > maxLogs) state.logs.shift()
	},
	wire(event, seq) { wire.add(event, seq) },
	gap() { wire.gap() },
}

const redraw = {
	header: later(drawHeader),
	tabs: later(drawTabs),
	list: later(drawList),
}

events((name, data, seq) => {
	handlers[name]?.(data, seq)
	if (['page', 'state', 'login'].includes(name)) redraw.header()
	if (['offer', 'state', 'log', 'task'].includes(name)) redraw.tabs()
	if (name === 'offer') redraw.list()
	for (const f of listeners) f(name, data)
}, (problem) => {
	state.unreachable = problem
	redraw.header()
})

// The header: the server, its connections, and notices about them.

function notice(text) {
	const element = h('div', { class: 'notice', role: 'alert' }, h('p', null, text), button('✕', () => element.remove(), { class: 'quiet', 'aria-label': 'Close the notice' }))
	at('notices').append(element)
}

function drawHeader() {
	const first = state.sides[0]
	const info = state.sides.find((s) => s?.server)?.server
	at('server').textContent = info?.title ?? info?.name ?? state.page.name
	at('version').textContent = info?.version ?? ''
	document.title = `${info?.name ?? state.page.name} – mcpwright inspect`
	replace(at('sides'), sideChip(0), sideChip(1), compareButton())
	wire.columns(state.compare && state.sides[1] ? [sideTitle(0), sideTitle(1)] : [first ? sideTitle(0) : ''])
	for (const old of at('notices').querySelectorAll('.about-side')) old.remove()
	if (state.unreachable) at('notices').prepend(h('div', { class: 'notice error about-side' }, h('p', null, state.unreachable)))
	for (const side of [1, 0]) at('notices').prepend(...[loginNotice(side), sideNotice(side)].filter(Boolean))
}

function sideTitle(side) {
	const s = state.sides[side]
	if (!s?.revision) return { connecting: 'connecting…', failed: 'not connected', ended: lastRevision[side] ?? 'ended', closed: lastRevision[side] ?? 'closed' }[s?.state] ?? ''
	lastRevision[side] = s.revision
	return s.revision
}

const lastRevision = []

function sideChip(side) {
	const s = state.sides[side]
	if (!s || (side === 1 && !state.compare)) return null
	const kind = s.state === 'connected' ? (s.stateless ? 'stateless' : 'handshake') : s.state
	return h('span', { class: `chip ${s.state}` }, h('span', { class: 'dot', 'aria-hidden': 'true' }), s.state === 'connecting' ? 'connecting…' : `${sideTitle(side)} · ${kind}`)
}

function compareButton() {
	const kind = state.sides[0]?.stateless ? 'handshake' : 'stateless'
	return button(state.compare ? 'Stop comparing' : 'Compare revisions', () => {
		state.compare = !state.compare
		sessionStorage.setItem('compare', String(state.compare))
		if (state.compare && !connected(1)) api.post('connect', { side: 1 }).catch(app.fail)
		redraw.header()
		for (const f of listeners) f('compare')
	}, { 'aria-pressed': String(state.compare), disabled: state.sides[0]?.state !== 'connected' && !state.compare, title: `Connect also with a ${kind} revision, and show both side by side` })
}

// loginNotice offers to log in. The URL comes from a server, so it is shown before it is opened.
function loginNotice(side) {
	const url = state.logins[side]
	if (!/^https?:\/\//i.test(url)) return null
	return h('div', { class: 'notice about-side', role: 'status' },
		h('div', null, h('p', null, h('strong', null, 'The server requires a login'), side === 1 ? ' (second connection)' : ''),
			h('p', null, 'It opens in a new tab, at ', h('strong', null, new URL(url).host), '. This page continues afterwards.'),
			h('details', null, h('summary', null, 'Address'), h('pre', { class: 'text url' }, url))),
		button('Log in', () => { window.open(url, '_blank', 'noopener,noreferrer') }, { class: 'primary' }))
}

function sideNotice(side) {
	const s = state.sides[side]
	if (!s || !['failed', 'ended', 'closed'].includes(s.state) || (side === 1 && !state.compare)) return null
	const what = { failed: 'The connection failed', ended: 'The server has ended the connection', closed: 'The connection is closed' }[s.state]
	const title = s.exit ? `${s.state === 'failed' ? what : 'The server has ended'}: ${s.exit}` : what
	const known = s.stderr?.length || (s.exit && s.state === 'ended')
	return h('div', { class: s.state === 'closed' ? 'notice about-side' : 'notice error about-side' },
		h('div', null, h('p', null, h('strong', null, title), side === 1 ? ' (second connection)' : ''),
			known ? null : s.error ? h('pre', { class: 'text' }, s.error) : null,
			s.stderr?.length ? h('details', { open: true }, h('summary', null, 'Last lines of its standard error'), h('pre', { class: 'text' }, s.stderr.join('\n'))) : null),
		button('Connect again', () => api.post('connect', { side }).catch(app.fail), { class: 'primary' }))
}

// The tabs, the list of entries, and the details of one.

const tabs = [
	{ id: 'tools', title: 'Tools', kinds: ['tools'] },
	{ id: 'resources', title: 'Resources', kinds: ['resources', 'templates'] },
	{ id: 'prompts', title: 'Prompts', kinds: ['prompts'] },
	{ id: 'tasks', title: 'Tasks', view: tasksView, count: () => state.tasks.size },
	{ id: 'log', title: 'Log', view: logView, count: () => state.logs.length },
	{ id: 'server', title: 'Server', view: serverView },
]
let tab = tabs[0]
let entry = null // the key of the selected entry
let close = null // ends the current view
let filter = ''

function offer(kind) {
	return state.offers[firstConnected()][kind] ?? state.offers[0][kind]
}

function drawTabs() {
	const focused = at('tabs').contains(document.activeElement)
	replace(at('tabs'), tabs.map((t) => {
		const count = t.count ? t.count() : t.kinds?.reduce((n, kind) => n + (offer(kind)?.list?.length ?? 0), 0)
		return button([t.title, count ? h('span', { class: 'count' }, String(count)) : null], () => openTab(t), { role: 'tab', id: `tab-${t.id}`, 'aria-selected': String(t === tab), 'aria-controls': 'detail', tabindex: t === tab ? '0' : '-1' })
	}))
	if (focused) at(`tab-${tab.id}`).focus()
}
arrows(at('tabs'), 'button')

function openTab(t) {
	tab = t
	entry = null
	filter = ''
	drawTabs()
	drawList()
	if (tab.view) show(tab.view(app))
	else if (!entry) show(null)
}

// entriesOf returns the entries of a list.
function entriesOf(kind) {
	return (offer(kind)?.list ?? []).map((item) => ({
		kind, item, key: `${kind} ${item.name} ${item.uri ?? item.uriTemplate ?? ''}`,
		title: kind === 'resources' || kind === 'templates' ? item.title ?? item.name : item.name,
		hint: kind === 'resources' ? item.uri : kind === 'templates' ? item.uriTemplate : item.title ?? item.description ?? '',
	}))
}

const views = { tools: toolView, resources: resourceView, templates: templateView, prompts: promptView }
const maxEntries = 500
const titles = { templates: 'Templates' }

function drawList() {
	const list = at('list')
	list.hidden = !tab.kinds
	if (!tab.kinds) return
	const focusedKey = document.activeElement?.dataset?.key
	const search = list.querySelector('input') ?? h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the entries', oninput: (event) => { filter = event.target.value; drawEntries() } })
	search.value = filter
	const body = h('div', { class: 'entries' })
	if (search.isConnected) list.querySelector('.entries').replaceWith(body)
	else replace(list, search, body)
	drawEntries()
	if (focusedKey) [...body.querySelectorAll('button')].find((b) => b.dataset.key === focusedKey)?.focus()
}

function drawEntries() {
	const body = at('list').querySelector('.entries')
	const words = filter.trim().toLowerCase()
	let first = null
	replace(body, tab.kinds.map((kind) => {
		const all = entriesOf(kind)
		const found = all.filter((e) => !words || `${e.title} ${e.hint} ${e.item.description ?? ''}`.toLowerCase().includes(words))
		first ??= found[0]
		const o = offer(kind)
		return [
			titles[kind] && all.length ? h('h3', null, titles[kind]) : null,
			o?.error ? h('p', { class: 'problem' }, o.error) : null,
			o && !all.length && !o.error && !titles[kind] ? h('p', { class: 'hint' }, o.declared ? `The server lists no ${kind}.` : `The server does not declare ${kind}.`) : null,
			h('ul', null, found.slice(0, maxEntries).map((e) => h('li', null, button([h('span', { class: 'title' }, e.title), h('span', { class: 'hint' }, firstLine(e.hint))], () => openEntry(e), { 'data-key': e.key, 'aria-current': e.key === entry ? 'true' : undefined })))),
			found.length > maxEntries ? h('p', { class: 'hint' }, `${found.length - maxEntries} more: use the filter.`) : null,
		]
	}))
	if (!entry && first) openEntry(first, true)
}
arrows(at('list'), 'li button')

function firstLine(text) {
	return String(text).split('\n')[0].slice(0, 160)
}

function openEntry(e, quiet) {
	entry = e.key
	for (const b of at('list').querySelectorAll('li button')) {
		if (b.dataset.key === e.key) b.setAttribute('aria-current', 'true')
		else b.removeAttribute('aria-current')
	}
	show(views[e.kind](app, e.item))
	if (!quiet) at('detail').scrollTop = 0
}

// open opens a resource by its URI and reads it.
function open(uri) {
	const all = tabs[1].kinds.flatMap(entriesOf)
	const known = all.find((e) => e.item.uri === uri)
	tab = tabs[1]
	entry = known?.key ?? `uri ${uri}`
	drawTabs()
	drawList()
	show(resourceView(app, known?.item ?? { uri, name: uri }))
	app.request('resources/read', JSON.stringify({ uri })).catch(app.fail)
}

// show shows a view: its element, and a function that ends it.
function show(view) {
	remove([...at('detail').children], close?.())
	close = view?.close ?? null
	at('detail').append(view?.element ?? h('p', { class: 'hint center' }, 'Choose an entry.'))
	at('detail').setAttribute('aria-labelledby', `tab-${tab.id}`)
}

// Elapsed times of running requests.
setInterval(() => {
	for (const element of document.querySelectorAll('[data-since]')) element.textContent = milliseconds(Date.now() - Number(element.dataset.since))
}, 100)

state.compare = sessionStorage.getItem('compare') === 'true'
drawTabs()
drawList()
drawHeader()

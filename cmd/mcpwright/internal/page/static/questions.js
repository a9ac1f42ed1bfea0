// Dialogs for the questions of the server.

import { h, button, replace } from './dom.js'
import { schemaForm } from './form.js'
import { content } from './result.js'
import * as api from './api.js'

// questionView shows questions in a dialog, one at a time. nameOf(side) returns the name of the server.
export function questionView(dialog, nameOf) {
	const open = new Map()
	let shown = null

	// update is called with each event of a question.
	function update(question) {
		if (question.method) open.set(question.id, question)
		else open.delete(question.id)
		if (shown !== null && !open.has(shown)) {
			shown = null
			dialog.close()
		}
		if (shown === null && open.size) show(open.values().next().value)
	}

	async function answer(question, result, problem) {
		try {
			await api.post('answer', `{"id":${question.id},"result":${result}}`)
		} catch (error) {
			problem.textContent = error.message
		}
	}

	function show(question) {
		shown = question.id
		const problem = h('p', { class: 'problem', role: 'alert' })
		const reply = (result) => answer(question, result, problem)
		const params = question.params ?? {}
		let view
		if (question.method === 'sampling/createMessage') view = samplingView(params, reply)
		else if (params.mode === 'url') view = urlView(params, reply)
		else view = formView(params, reply)
		replace(dialog,
			h('p', { class: 'hint' }, `${nameOf(question.side)} asks`, open.size > 1 ? ` (${open.size} questions are open)` : ''),
			h('h2', { id: 'question-title' }, view.title), view.body, problem, h('div', { class: 'buttons' }, view.buttons))
		dialog.oncancel = (event) => {
			event.preventDefault()
			view.cancel()
		}
		dialog.onclose = () => {
			if (shown === question.id && open.has(question.id)) dialog.showModal() // browsers close it with the second Escape
		}
		if (!dialog.open) dialog.showModal()
		dialog.querySelector(view.focus ?? 'input, textarea, select, button')?.focus()
	}
	return { update }
}

function formView(params, reply) {
	const form = schemaForm(params.requestedSchema ?? {}, { prefill: true })
	const accept = () => {
		const text = form.text()
		if (text !== null) reply(`{"action":"accept","content":${text}}`)
	}
	form.element.addEventListener('keydown', (event) => {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey || event.target.matches('input:not([type="radio"])'))) {
			event.preventDefault()
			accept()
		}
	})
	const cancel = () => reply('{"action":"cancel"}')
	return {
		title: params.message ?? 'A question', body: form.element, cancel, focus: '.fields input, .fields textarea, .fields select',
		buttons: [button('Accept', accept, { class: 'primary' }), button('Decline', () => reply('{"action":"decline"}')), button('Cancel', cancel, { class: 'quiet' })],
	}
}

function urlView(params, reply) {
	const url = String(params.url ?? '')
	const safe = /^https?:\/\//i.test(url)
	const cancel = () => reply('{"action":"cancel"}')
	return {
		title: params.message ?? 'Visit a page',
		body: [h('p', null, 'The server asks you to visit this address. Check it before you open it.'), h('pre', { class: 'text url' }, url),
			safe ? null : h('p', { class: 'problem' }, 'The address is not of the web, so this page does not open it.')],
		cancel,
		buttons: [
			safe ? button('Open and accept', () => {
				window.open(url, '_blank', 'noopener,noreferrer')
				reply('{"action":"accept"}')
			}, { class: 'primary' }) : button('Accept', () => reply('{"action":"accept"}')),
			button('Decline', () => reply('{"action":"decline"}')), button('Cancel', cancel, { class: 'quiet' })],
	}
}

function samplingView(params, reply) {
	const text = h('textarea', { rows: '5', id: 'sampling-text', class: 'grow' })
	const model = h('input', { type: 'text', id: 'sampling-model', value: 'person' })
	const send = () => reply(JSON.stringify({ role: 'assistant', content: { type: 'text', text: text.value }, model: model.value, stopReason: 'endTurn' }))
	text.addEventListener('keydown', (event) => {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send()
	})
	const cancel = () => reply('null')
	const messages = [].concat(params.messages ?? [])
	return {
		title: 'The server asks your language model',
		body: h('div', { class: 'parts' },
			params.systemPrompt ? h('div', { class: 'bubble' }, h('div', { class: 'caption' }, 'system prompt'), params.systemPrompt) : null,
			messages.map((m) => h('div', { class: `bubble ${m.role === 'user' ? 'user' : 'assistant'}` }, h('div', { class: 'caption' }, m.role), [].concat(m.content).map((block) => content(block, () => {})))),
			params.maxTokens ? h('p', { class: 'hint' }, `at most ${params.maxTokens} tokens`) : null,
			h('div', { class: 'field' }, h('label', { for: 'sampling-text' }, 'Answer as the model'), text),
			h('div', { class: 'field' }, h('label', { for: 'sampling-model' }, 'Name of the model'), model)),
		cancel, focus: '#sampling-text',
		buttons: [button('Send', send, { class: 'primary' }), button('Refuse', cancel)],
	}
}

// The requests to the program that serves the page. The token is in the fragment of the URL.

const token = location.hash.slice(1)
const headers = { Authorization: `Bearer ${token}` }

// post sends a request with a JSON text or a value as its body. It returns the response.
export async function post(name, body) {
	const response = await fetch(`/api/${name}`, {
		method: 'POST',
		headers: { ...headers, 'Content-Type': 'application/json' },
		body: typeof body === 'string' ? body : JSON.stringify(body),
	})
	const result = await response.json()
	if (!response.ok) throw new Error(result.error)
	return result
}

// message returns the text of a message.
export async function message(seq) {
	const response = await fetch(`/api/message/${seq}`, { headers })
	if (!response.ok) throw new Error((await response.json()).error)
	return response.text()
}

// events calls onEvent with the name, the data and the id of each event, in order, and onState with
// a text about the connection, or "". It connects again after the last event that it has received.
export async function events(onEvent, onState) {
	let last = ''
	for (;;) {
		try {
			const response = await fetch('/api/events', { headers: last ? { ...headers, 'Last-Event-ID': last } : headers })
			if (!response.ok) {
				onState((await response.json()).error)
				return
			}
			onState('')
			const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
			let chunks = [] // of an event that is not complete
			for (;;) {
				const { value, done } = await reader.read()
				if (done) break
				const split = value.startsWith('\n') && chunks.at(-1)?.endsWith('\n')
				chunks.push(value)
				if (!split && !value.includes('\n\n')) continue
				const parts = chunks.join('').split('\n\n')
				chunks = [parts.pop()]
				for (const part of parts) {
					const event = {}
					for (const line of part.split('\n')) {
						const at = line.indexOf(': ')
						if (at > 0) event[line.slice(0, at)] = line.slice(at + 2)
					}
					if (event.id) last = event.id
					if (event.event) onEvent(event.event, JSON.parse(event.data), Number(event.id))
				}
			}
		} catch {
			// The program has ended, or the network is interrupted.
		}
		onState('mcpwright inspect does not respond. Has it ended? The page connects again when it responds.')
		await new Promise((resolve) => setTimeout(resolve, 1000))
	}
}

// Package rounds lets the handler of a request ask the client questions in straight-line
// code, in every revision. In the handshake revisions the server sends requests for that.
// In the stateless revisions the response contains the questions, and the client sends the
// request again with its responses.
//
// [New] returns the [Rules] that apply to all requests of a server. A
// [connection.Dispatcher] calls them, and a request whose handler asks a question gets a
// [Round]:
//
//	rules, err := rounds.New(rounds.Options{Audience: info.Name})
//	...
//	opts.Rounds = rules
//	dispatcher := connection.NewDispatcher(&opts)
//
// A server stores nothing between two rounds. Everything that the next round needs and that
// the client does not send anyway is part of the request state, which is encrypted and bound
// to its request.
package rounds

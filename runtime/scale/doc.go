// Package scale lets several replicas of a server share sessions, behind a balancer that sends a
// request to any of them.
//
// Each session has one owner, a replica. The id of the session names the replica where it began.
// Other replicas forward requests to the owner over HTTP. If the owner is gone, the replica that
// receives the next request takes the session over: it reads a record and the stored events from
// the engine, and continues. An owner that was only slow finds that out when it writes to the
// engine, and gives the session up.
//
//	node, err := scale.NewNode(table, log, &scale.Options{Address: "http://10.0.0.7:8080", Keys: keys})
//	…
//	http.Handle("/mcp", guard(node.Handler(server, nil)))
//	…
//	node.Shutdown(ctx)   // other replicas continue the sessions
//	server.Shutdown(ctx)
//
// The engine is a [engine.Table] and a [engine.Log], which the modules scale/nats and scale/redis
// implement. It is used when a session begins, changes, moves or ends, and for messages that are
// sent as events, but not for each request.
//
// Requests of stateless revisions belong to no session: each replica serves what it receives.
package scale

// Package chaos tests package scale with processes that fail.
//
// The test starts replicas and an engine as processes, and clients of package mcpclient in all
// revisions. A balancer sends each request to the next replica. Meanwhile processes are killed,
// stopped for longer than the lease, and shut down, links between them are cut and slow, and the engine is killed,
// stopped and full. Several faults are made at a time. The seed of a run determines its setup and its faults: three to
// five replicas, and an engine of one server, of three, or of servers in the replicas.
//
// Clients and replicas record what they observe. Afterwards, [check] returns the promises that the
// history breaks.
package chaos

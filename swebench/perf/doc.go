// Package perf plans the trajectories of a benchmark's performance side as the Python
// benchmark does: which conversation each of them replays, under which ID, with which salt
// and which delays. It sends nothing; a client that sends puts the trajectory's session into
// the context, and the carrier of the configured header names does the rest.
//
//   - Trajectory k, counted from 0, replays conversation k mod N as its instance k div N + 1.
//     Instance 1 has the conversation's ID, a later one that ID and "__repeat_" and its number.
//     All turns of a trajectory share the ID, and no two trajectories do: a conversation whose
//     own ID is that of a repeat is refused before anything is planned.
//   - IDs are session IDs, so they are 1 to 255 bytes of visible ASCII, suffix included.
//   - A salt is put before and after the first system message whose content is a text. The
//     source stays as it is. A turn without messages, or without such a message, is refused
//     before anything is planned.
//   - Delays belong to the conversation and the turn, also to the first one, whatever the
//     instance.
//
// Requests without a conversation, such as probes, go out under routing.Without and carry no
// header.
package perf

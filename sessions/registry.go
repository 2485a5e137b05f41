// This part reads and writes registry.json: the list of the sessions of a root (the directory with
// the mail of one project). The list has a row for each session, in the format that
// docs/compatibility.md describes.

package sessions

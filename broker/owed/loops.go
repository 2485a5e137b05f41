// This part stops agents that only answer each other. It counts the messages of a chain: each was sent because of the one before, and
// nobody worked in between. When the count is too high, it holds the next message for a while.

package owed

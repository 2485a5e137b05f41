package broker_test

import (
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
)

// What is on disk under a root, as others read it: docs/inside/files.md.
const (
	registryFile = "registry.json"
	deadFile     = "dead-letter.jsonl"
	logFile      = "broker.log"
	askingDir    = "asking"
	owedDir      = "owed"
	owedEnd      = ".jsonl"
	closedFile   = ".closed.jsonl"
	closedOld    = ".closed.old"
	dueMark      = "owed.due"
	workEnd      = ".work"
	wakeLock     = "wake.lock"
)

func ringLock(sid string) string { return sid + ".wake.lock" }

// mover is the reader that a move of mail is.
const mover = inbox.ByMover

// Limits and times that the broker promises.
const (
	logMax        = 10 << 20
	logKeep       = 5
	closedMax     = 1 << 20
	maxAttachment = 50 << 20
	maxThread     = 1000
	maxFailure    = 200
	maxTold       = 5
	defaultHops   = 50
	blindTimes    = 10
	lookEvery     = 10 * time.Minute
	retryAfter    = time.Minute
	endedAfter    = time.Minute
	tellGap       = 2 * time.Hour
	tellAbsent    = 24 * time.Hour
	remindGap     = 30 * time.Minute
	readGrace     = 5 * time.Minute
	overdueLimit  = 30 * 24 * time.Hour
	guardPause    = mail.LongestHold
	waitGrace     = 10 * time.Second
	hiddenFor     = 7 * 24 * time.Hour
	tidyEvery     = 24 * time.Hour
	forgetSoon    = 24 * time.Hour
	moveWait      = 200 * time.Millisecond
)

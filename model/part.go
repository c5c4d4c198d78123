package model

import (
	"github.com/homing-go/homing/internal/rawjson"
)

// A Part is one piece of a message that has more than text.
type Part struct {
	json []byte
}

// TextPart returns a piece of text.
func TextPart(text string) Part {
	return Part{append(rawjson.AppendQuoted([]byte(`{"type":"text","text":`), text), '}')}
}

// ImagePart returns an image, by an http URL or a data URL. detail is "low", "high" or
// "auto"; "" leaves it to the server.
func ImagePart(url, detail string) Part {
	b := rawjson.AppendQuoted([]byte(`{"type":"image_url","image_url":{"url":`), url)
	if detail != "" {
		b = rawjson.AppendQuoted(append(b, `,"detail":`...), detail)
	}
	return Part{append(b, "}}"...)}
}

// AudioPart returns sound: its bytes in base64, and their format, such as "wav" or "mp3".
func AudioPart(base64, format string) Part {
	b := rawjson.AppendQuoted([]byte(`{"type":"input_audio","input_audio":{"data":`), base64)
	b = rawjson.AppendQuoted(append(b, `,"format":`...), format)
	return Part{append(b, "}}"...)}
}

// UserParts returns a user message made of parts.
func UserParts(parts ...Part) Message {
	b := []byte(`{"role":"user","content":[`)
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.json...)
	}
	return Message{append(b, "]}"...)}
}

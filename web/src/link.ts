// A link that holds a whole contract: deflated, in the letters that addresses take, behind the `#` that nobody is sent.

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream, most: number) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) throw new Error("the link unfolds to more than a contract");
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const MOST = 2_000_000;

export async function pack(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value)) as Uint8Array<ArrayBuffer>;
  const small = await through(bytes, new CompressionStream("deflate-raw"), MOST);
  let letters = "";
  for (const byte of small) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(text: string): Promise<unknown> {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0)) as Uint8Array<ArrayBuffer>;
  const whole = await through(bytes, new DecompressionStream("deflate-raw"), MOST);
  return JSON.parse(new TextDecoder().decode(whole));
}

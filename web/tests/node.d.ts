// As much of node as tests use, so that its types need not be installed.
declare module "node:test" {
  export function test(name: string, body: () => void): void;
}
declare module "node:assert/strict" {
  const assert: {
    equal(actual: unknown, expected: unknown): void;
    deepEqual(actual: unknown, expected: unknown): void;
    ok(value: unknown): void;
  };
  export default assert;
}

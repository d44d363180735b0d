// What a probe finds out becomes the description of a command, because that is compared.
export interface Api {
  registerCommand(name: string, options: { description: string; handler: () => Promise<void> }): void;
  on(event: string, handler: (...args: unknown[]) => unknown): unknown;
  [key: string]: any;
}

export function tell(pi: Api, found: unknown, name = "found"): void {
  pi.registerCommand(name, { description: JSON.stringify(found), handler: async () => {} });
}

/** The value, or the kind of error that came instead. */
export function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    const { name, code, message } = error as Error & { code?: string };
    return { threw: name, code, message: code ? undefined : message };
  }
}

export async function attemptAsync(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return attempt(() => {
      throw error;
    });
  }
}
